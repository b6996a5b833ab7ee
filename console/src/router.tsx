import type { QueryClient } from "@tanstack/react-query";
import {
  type AnyRouter,
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from "@tanstack/react-router";
import { base } from "./api/base.js";
import { sessionQuery } from "./api/session.js";
import { optional, optionalNumber } from "./search.js";
import { Frame } from "./shell/frame.js";
import { words } from "./texts/words.js";
import { ErrorNote } from "./ui/error.js";
import { css, Empty, Skeleton } from "./ui/parts.js";

const root = createRootRouteWithContext<{ readonly queries: QueryClient }>()({
  component: Frame,
  loader: ({ context }) => context.queries.ensureQueryData(sessionQuery),
  notFoundComponent: () => <Empty title={words.notFound}>{words.notFoundHint}</Empty>,
});

const getParentRoute = (): typeof root => root;

const start = createRoute({
  getParentRoute,
  path: "/",
  beforeLoad: async ({ context }) => {
    const state = await context.queries.ensureQueryData(sessionQuery);
    if (!("session" in state)) return;
    const { agent, task, recording } = state.session.start ?? {};
    if (recording !== undefined) throw redirect({ to: "/recording", search: { agent } });
    if (agent !== undefined) throw redirect({ to: "/talk", search: { agent, task } });
    throw redirect({ to: "/agents" });
  },
});

// Talk to agents.
const agents = createRoute({
  getParentRoute,
  path: "/agents",
  validateSearch: optional("filter"),
  component: lazyRouteComponent(() => import("./talk/agents-page.js")),
});

const agent = createRoute({
  getParentRoute,
  path: "/agent",
  validateSearch: optional("url", "tab", "text"),
  component: lazyRouteComponent(() => import("./talk/agent-page.js")),
});

const talk = createRoute({
  getParentRoute,
  path: "/talk",
  validateSearch: optional("agent", "conversation", "beside", "task", "panel", "text"),
  component: lazyRouteComponent(() => import("./talk/talk-page.js")),
});

const recording = createRoute({
  getParentRoute,
  path: "/recording",
  validateSearch: (search: Record<string, unknown>) => ({
    ...optional("conversation", "agent", "speech", "compare")(search),
    ...optionalNumber("exchange")(search),
  }),
  component: lazyRouteComponent(() => import("./recording/recording-page.js")),
});

const receiver = createRoute({
  getParentRoute,
  path: "/receiver",
  validateSearch: (search: Record<string, unknown>) => ({
    ...optional("agent")(search),
    ...optionalNumber("open")(search),
  }),
  component: lazyRouteComponent(() => import("./receiver/receiver-page.js")),
});

const signedIn = createRoute({
  getParentRoute,
  path: "/login/callback",
  component: lazyRouteComponent(() => import("./agents/callback-page.js")),
});

// Operate.
const tasks = createRoute({
  getParentRoute,
  path: "/operate/tasks",
  validateSearch: optional("states", "tenant", "owner", "agent", "context", "text", "from", "before", "unattended"),
  component: lazyRouteComponent(() => import("./operate/tasks-page.js")),
});

const task = createRoute({
  getParentRoute,
  path: "/operate/tasks/$taskId",
  validateSearch: (search: Record<string, unknown>) => ({
    ...optional("tab")(search),
    ...optionalNumber("at", "entry")(search),
  }),
  component: lazyRouteComponent(() => import("./operate/task-page.js")),
});

const inbox = createRoute({
  getParentRoute,
  path: "/operate/inbox",
  validateSearch: optional("tenant", "owner"),
  component: lazyRouteComponent(() => import("./operate/inbox-page.js")),
});

const conversations = createRoute({
  getParentRoute,
  path: "/operate/conversations",
  validateSearch: optional("tenant", "owner"),
  component: lazyRouteComponent(() => import("./operate/conversations-page.js")),
});

const conversation = createRoute({
  getParentRoute,
  path: "/operate/conversations/$contextId",
  validateSearch: optional("tenant", "owner"),
  component: lazyRouteComponent(() => import("./operate/conversation-page.js")),
});

const deliveries = createRoute({
  getParentRoute,
  path: "/operate/deliveries",
  validateSearch: optional("states", "tenant", "owner", "task", "target", "open"),
  component: lazyRouteComponent(() => import("./operate/deliveries-page.js")),
});

const owners = createRoute({
  getParentRoute,
  path: "/operate/owners",
  validateSearch: optional("tenant"),
  component: lazyRouteComponent(() => import("./operate/owners-page.js")),
});

const server = createRoute({
  getParentRoute,
  path: "/operate/server",
  validateSearch: optional("tab", "limit", "view"),
  component: lazyRouteComponent(() => import("./operate/server-page.js")),
});

const audit = createRoute({
  getParentRoute,
  path: "/operate/audit",
  validateSearch: optional("tab", "owner"),
  component: lazyRouteComponent(() => import("./operate/audit-page.js")),
});

const pages = [
  start,
  agents,
  agent,
  talk,
  recording,
  receiver,
  signedIn,
  tasks,
  task,
  inbox,
  conversations,
  conversation,
  deliveries,
  owners,
  server,
  audit,
] as const;
const routeTree = root.addChildren(pages);

/** Creates the router. Every state of a page that one may want to share is in its URL. */
export function createConsoleRouter(queries: QueryClient): AnyRouter {
  return routerOf(queries);
}

function routerOf(queries: QueryClient) {
  return createRouter({
    routeTree,
    basepath: base.pathname,
    context: { queries },
    defaultPreload: "intent",
    defaultPendingComponent: () => (
      <div className={css.page}>
        <Skeleton lines={6} />
      </div>
    ),
    defaultErrorComponent: ({ error, reset }) => (
      <div className={css.page}>
        <ErrorNote error={error} onRetry={reset} />
      </div>
    ),
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof routerOf>;
  }
}
