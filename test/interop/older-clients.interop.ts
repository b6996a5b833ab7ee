import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { execute } from "../version/cases/agent.js";
import { caseCard, openWorld } from "../version/cases/world.js";
import { javaClass, javaProject } from "./support/java.js";
import { pythonEnvironment, pythonWith } from "./support/python.js";
import { installed, succeed } from "./support/tool.js";

/**
 * Published clients that only support a version before 1.0, with a server of every version. They receive only a URL.
 */
const here = join(root, "test", "interop", "older");

/** Installs the JavaScript library, whose package has the name of that for 1.0. Returns its folder. */
function javaScript(): Promise<string> {
  return installed({
    name: "a2a-js-sdk-0.3.14",
    needs: "npm, and access to its registry",
    install: async (into) => {
      copyFileSync(join(root, "test", "interop", "servers", "older", "package.json"), join(into, "package.json"));
      await succeed("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: into });
    },
  });
}

const python = (version: string): Promise<string> =>
  pythonWith(`python-a2a-sdk-${version}-client`, join(here, `requirements-${version}.txt`));

const runPython = (interpreter: string, args: readonly string[]): Promise<string> =>
  succeed(interpreter, args, { env: { ...process.env, ...pythonEnvironment } });

type Run = (url: string, transport: string, hook: string) => Promise<string>;

interface Foreign {
  /** The client's names of transports, by binding. */
  readonly transports: Readonly<Record<string, string>>;
  /** True if the client has no transport classes, and cannot list or resubscribe. */
  readonly isBare?: true;
  /** True if the client can neither set nor read push configurations, nor read the extended card. */
  readonly hasNoPush?: true;
  /** The client's names of errors by step. They may differ between bindings. */
  readonly errors?: (binding: string) => Readonly<Record<string, string>>;
  readonly run: () => Promise<Run>;
}

const clients: Readonly<Record<string, Foreign>> = {
  "@a2a-js/sdk 0.3": {
    transports: { JSONRPC: "JsonRpcTransport", "HTTP+JSON": "RestTransport", GRPC: "GrpcTransport" },
    run: async () => {
      const folder = await javaScript();
      return (...args) => succeed(process.execPath, [join(here, "client-0.3.mjs"), folder, ...args]);
    },
  },
  "a2a-sdk 0.3 (Python)": {
    transports: { JSONRPC: "JsonRpcTransport", "HTTP+JSON": "RestTransport", GRPC: "GrpcTransport" },
    run: async () => {
      const interpreter = await python("0.3.26");
      return (...args) => runPython(interpreter, [join(here, "client_03.py"), ...args]);
    },
  },
  "a2a-java-sdk 0.3.3.Final": {
    transports: { JSONRPC: "JSONRPCTransport", "HTTP+JSON": "RestTransport", GRPC: "GrpcTransport" },
    errors: (binding) => ({
      unknown: "TaskNotFoundError",
      // Over gRPC the client has no name for a failed precondition.
      tooLate: binding === "GRPC" ? "StatusRuntimeException" : "TaskNotCancelableError",
      over: "UnsupportedOperationError",
    }),
    run: async () => {
      const folder = await javaProject({ name: "java-sdk-0.3.3.Final-client-1", from: join(here, "java") });
      return (...args) => succeed("java", [...javaClass(folder, "Caller"), ...args]);
    },
  },
  "a2a-sdk 0.2 (Python)": {
    transports: { JSONRPC: "A2AClient" },
    isBare: true,
    run: async () => {
      const interpreter = await python("0.2.16");
      return (...args) => runPython(interpreter, [join(here, "client_02.py"), ...args]);
    },
  },
  "a2a-sdk 0.2 (Python), its gRPC": {
    transports: { GRPC: "A2AGrpcClient" },
    isBare: true,
    hasNoPush: true,
    run: async () => {
      const interpreter = await python("0.2.16");
      return (...args) => runPython(interpreter, [join(here, "client_02_grpc.py"), ...args]);
    },
  },
};

const order = "I have ordered a new Android device for you. Your request number is R12443";
const sections = ["<section 1...>", "<section 2...>", "<section 3...>"];

type World = Awaited<ReturnType<typeof openWorld>>;

/**
 * The called servers with the path of their agent. An agent with a tenant has its own URL, which gRPC cannot express.
 */
const places: Readonly<Record<string, { readonly at: string; readonly open: () => Promise<World> }>> = {
  "an agent alone": { at: "", open: () => openWorld() },
  "the second of two agents": {
    at: "/support/",
    open: () => {
      const agent = { card: caseCard, responds: "either" as const, extendedCard: caseCard, execute };
      const first = { ...agent, card: { ...caseCard, name: "Another Agent" } };
      return openWorld({ agent: undefined, agents: { sales: first, support: agent } } as never);
    },
  },
};

interface Event {
  readonly kind: string;
  readonly state?: string;
  readonly final?: boolean;
  readonly texts?: readonly string[];
}

/** The transports of a client that can reach a place. */
const spokenAt = (name: string, place: string): [binding: string, transport: string][] =>
  Object.entries((clients[name] as Foreign).transports).filter(
    ([binding]) => places[place]?.at === "" || binding !== "GRPC",
  );

const rows = Object.keys(clients)
  .flatMap((name) => Object.keys(places).map((place) => [name, place] as const))
  .filter(([name, place]) => spokenAt(name, place).length > 0);

describe.each(rows)("%s with %s", (name, place) => {
  const { isBare, hasNoPush, errors, run } = clients[name] as Foreign;
  const { at, open } = places[place] as (typeof places)[string];
  let world: World;
  beforeAll(async () => {
    world = await open();
  });
  afterAll(() => world.close());

  describe.each(spokenAt(name, place))("over %s", (binding, transport) => {
    /** The client's results by step. */
    let seen: Readonly<Record<string, unknown>>;
    const hook = `/${name}/${binding}`.replaceAll(/[^\w/.-]/g, "-");

    beforeAll(async () => {
      const call = await run();
      seen = JSON.parse(await call(world.url + at, binding, world.webhook.urlOf(hook)));
    }, 600_000);

    it("reads the card", () => {
      expect(seen.card).toMatchObject({ name: "Case Agent", capabilities: { streaming: true } });
      if (!isBare) expect(seen.transport).toMatch(new RegExp(`^_?${transport}$`));
    });

    it("sends, and gets what was made", () => {
      expect(seen.sent).toMatchObject({ kind: "task", state: "completed", texts: ["hello"] });
      expect(seen.got).toEqual(seen.sent);
      expect(seen.reply).toMatchObject({ kind: "message", texts: ["hi"] });
    });

    it("streams to an end that it knows", () => {
      const events = seen.streamed as readonly Event[];
      const pieces = events.filter(({ kind }) => kind === "artifact-update").flatMap(({ texts = [] }) => texts);
      expect(pieces).toEqual(sections);
      expect(events[0]).toMatchObject({ kind: "task" });
      expect(events.at(-1)).toMatchObject({ kind: "status-update", state: "completed", final: true });
    });

    it("answers a question", () => {
      expect(seen.asked).toMatchObject({ state: "input-required" });
      expect(seen.answered).toMatchObject({ state: "completed", texts: [order] });
    });

    it("does not wait, follows again, and cancels", () => {
      expect(seen.held).toMatchObject({ kind: "task", state: expect.stringMatching(/submitted|working/) });
      expect(seen.canceled).toMatchObject({ state: "canceled" });
      if (isBare) return;
      expect((seen.watched as readonly Event[]).at(-1)).toMatchObject({ state: "canceled", final: true });
    });

    it("has push notifications set, read, and delivered as a task of its version", async () => {
      const url = `${world.webhook.urlOf(hook)}/set`;
      if (!hasNoPush) for (const step of [seen.pushSet, seen.pushGot]) expect(step).toMatchObject({ url });
      expect(seen.report).toMatchObject({ state: expect.stringMatching(/submitted|working/) });
      const isDone = ({ body }: { body?: unknown }): boolean =>
        (body as { status?: { state?: string } } | undefined)?.status?.state === "completed";
      const received = await world.webhook.eventually(`${hook}/inline`, isDone);
      const last = received.find(isDone);
      expect(last, JSON.stringify(received)).toMatchObject({
        headers: { "x-a2a-notification-token": "b-token", "content-type": "application/json" },
        body: { kind: "task", id: (seen.report as { id: string }).id, artifacts: [{ name: "echo" }] },
      });
    });

    it("tells errors apart", () => {
      const names = errors?.(binding);
      for (const step of ["unknown", "tooLate", "over"]) {
        expect(seen[step]).toHaveProperty("error", names?.[step] ?? expect.anything());
      }
    });

    it.skipIf(hasNoPush)("reads the extended card", () => {
      expect(seen.extended).toBe("Case Agent");
    });
  });
});
