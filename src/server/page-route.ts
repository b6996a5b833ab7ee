import type { AgentDirectory, AgentRegistration } from "../card/agents.js";
import type { HttpRequest } from "../http/request.js";
import { pageHeaders, pageOf } from "../page/page.js";
import { cardAt, originOf } from "./card-route.js";
import type { StaticRoute } from "./dispatch.js";
import type { Settings } from "./options.js";
import type { PublicAddress } from "./public-address.js";

const { "content-type": type = "text/html", ...others } = pageHeaders;
const headers = [...Object.entries(others), ["cache-control", "no-cache"] as const];

/**
 * The page of the first agent at the root, and that of each agent below its tenant, for clients that ask for HTML as browsers
 * do. Other requests are answered as if there were no page.
 */
export function createPageRoute(settings: Settings, address: PublicAddress): StaticRoute {
  const { agents, basePath } = settings;
  return (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") return undefined;
    const { path, mount = basePath } = request.target;
    const served = shownAt(agents, path);
    if (served === undefined || !wantsHtml(request)) return undefined;
    const body = pageOf({
      card: cardAt(served, address, originOf(request, mount)),
      base: mount + pathOf(served),
      agents: agents.all.map((each) => ({
        name: each.card.name,
        path: mount + (pathOf(each) || "/"),
        isShown: each === served,
      })),
    });
    return { status: 200, type, headers, body };
  };
}

function pathOf({ tenant }: AgentRegistration): string {
  return tenant === "" ? "" : `/${encodeURIComponent(tenant)}`;
}

function shownAt({ all }: AgentDirectory, path: string): AgentRegistration | undefined {
  return path === "/" ? all[0] : all.find((served) => served.tenant !== "" && pathOf(served) === path);
}

/** Whether `Accept` names HTML, as browsers do for a page; a client that accepts anything is not a browser. */
function wantsHtml(request: HttpRequest): boolean {
  const types = request.header("accept")?.split(",") ?? [];
  return types.some((each) => /^\s*text\/html\s*(?:;|$)/i.test(each) && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(each));
}
