import { generateKeyPairSync } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { httpBearerScheme } from "../../../src/auth/index.js";
import { describeFirst, everyNth } from "../../support/cover.js";
import { changing, FaultyProxy, type Planted } from "./faulty-proxy.js";
import { type Json, openWorld, runIn, type World } from "./world.js";

let world: World | undefined;
afterEach(() => world?.close());

/** Runs the command and returns its findings as `binding check`. */
async function found(of: World, ...argv: readonly string[]) {
  const { exit, json, out } = await of.run(["doctor", "AGENT", "-o", "json", ...argv]);
  return { exit, json, out, ...namesIn(json) };
}

function namesIn(json: Json) {
  const failed = json.checks?.filter(({ result }: Json) => result === "fail") ?? [];
  return {
    names: [...new Set<string>(failed.map(({ check }: Json) => check))],
    details: failed.map(({ binding, check, detail }: Json) => `${binding || "card"} ${check}: ${detail}`),
  };
}

describeFirst("doctor", { timeout: 60_000 }, () => {
  it("examines the card and every interface in every version, and finds nothing wrong with a sound agent", async () => {
    world = await openWorld();
    const { exit, json, details } = await found(world);
    expect(details).toEqual([]);
    expect(exit).toBe(0);
    expect(json.summary).toMatchObject({ faults: 0, advice: 0 });
    const reached = json.checks.filter(({ check }: Json) => check === "reachable");
    expect(reached.map(({ binding, version, result }: Json) => `${binding} ${version} ${result}`)).toEqual([
      "GRPC 1.0 pass",
      "JSONRPC 1.0 pass",
      "HTTP+JSON 1.0 pass",
      "CONNECT 1.0 pass",
      "GRPC 0.3 pass",
      "JSONRPC 0.3 pass",
      "HTTP+JSON 0.3 pass",
      "JSONRPC 0.2 pass",
      "JSONRPC 0.1 pass",
    ]);
    const alike = json.checks.filter(({ check }: Json) => check === "alike");
    expect(alike.map(({ result }: Json) => result)).toEqual(Array(6).fill("pass"));
  });

  it("resumes the streams of tasks that run on, and leaves no task running", async () => {
    world = await openWorld({ strictVersion: true });
    const { json: card } = await world.run(["card", "get", "AGENT", "-o", "json"]);
    const files = { "c.json": JSON.stringify({ ...card, supportedInterfaces: card.supportedInterfaces.slice(0, 3) }) };
    const { json } = await runIn(["doctor", "./c.json", "-o", "json", "--message", "hold"], { files });
    expect(namesIn(json).details).toEqual([]);
    const resumed = json.checks.filter(({ check }: Json) => check === "resume");
    expect(resumed.map(({ result }: Json) => result)).toEqual(["pass", "pass", "pass"]);
    const { json: list } = await world.run(["task", "list", "-a", "AGENT", "--all", "-o", "json"]);
    expect(new Set(list.tasks.map(({ status }: Json) => status.state))).toEqual(new Set(["TASK_STATE_CANCELED"]));
  });

  it("prints findings with their mends, and all checks with --verbose", async () => {
    world = await openWorld();
    const quiet = await world.run(["doctor", "AGENT"]);
    expect(quiet.out).toMatch(/\nJSONRPC 1\.0: http:.*\n/);
    expect(quiet.out).not.toContain("Sound: ");
    expect(quiet.out).toMatch(/\nResult: 0 faults, 0 to improve, \d+ sound, \d+ not checked\n$/);
    const verbose = await world.run(["doctor", "AGENT", "-v"]);
    expect(verbose.out).toMatch(
      /^Sound: unknown-task \(3\.1\.3\): GetTask of an unknown task fails with TaskNotFound/m,
    );
  });

  it("accepts an agent that answers with messages", async () => {
    world = await openWorld();
    const { details } = await found(world, "--message", "say hello");
    expect(details).toEqual([]);
  });

  it("examines as much of a guarded agent as it may without a credential, and all with one", async () => {
    const bearer = httpBearerScheme({ check: (token) => (token === "right" ? { owner: "alice" } : undefined) });
    world = await openWorld({ agent: { security: { schemes: { bearer } } } });
    const without = await found(world);
    expect(without.details).toEqual([]);
    expect(without.json.checks.filter(({ detail }: Json) => /wants a credential/.test(detail)).length).toBeGreaterThan(
      5,
    );
    const { details, json } = await found(world, "--bearer", "right");
    expect(details).toEqual([]);
    for (const name of ["no-credential", "wrong-credential", "challenge"]) {
      const lines = json.checks.filter(({ check }: Json) => check === name);
      expect(new Set(lines.map(({ result }: Json) => result))).toEqual(new Set(["pass"]));
    }
  });

  it("finds an interface that is not reached, and examines the others", async () => {
    world = await openWorld({ strictVersion: true });
    const { json: card } = await world.run(["card", "get", "AGENT", "-o", "json"]);
    const supportedInterfaces = [
      { url: "http://127.0.0.1:9/", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      ...card.supportedInterfaces.filter((each: Json) => each.protocolBinding === "HTTP+JSON").slice(0, 1),
    ];
    const files = { "c.json": JSON.stringify({ ...card, supportedInterfaces }) };
    const { exit, json } = await runIn(["doctor", "./c.json", "-o", "json"], { files });
    expect(exit).toBe(1);
    expect(namesIn(json).names).toEqual(["reachable"]);
    expect(json.summary.sound).toBeGreaterThan(20);
  });

  it("calls each interface by itself, with versions as cards write them, and names what is not a URL", async () => {
    world = await openWorld();
    const { json: card } = await world.run(["card", "get", "AGENT", "-o", "json"]);
    const url = `http://127.0.0.1:${world.server.port}`;
    const of = (protocolBinding: string, protocolVersion: string, at = url) => ({
      url: at,
      protocolBinding,
      protocolVersion,
    });
    const supportedInterfaces = [
      of("JSONRPC", "1.0.1"),
      of("JSONRPC", "0.3.0"),
      of("HTTP+JSON", "0.3"),
      of("JSONRPC", "1.0", "not a url"),
      of("GRPC", "9.9"),
      of("urn:x:pigeon", "1.0"),
    ];
    const files = { "c.json": JSON.stringify({ ...card, supportedInterfaces }) };
    const { json } = await runIn(["doctor", "./c.json", "-o", "json"], { files });
    const reached = json.checks.filter(({ check }: Json) => check === "reachable");
    expect(reached.map(({ result, detail }: Json) => [result, detail])).toEqual([
      ["pass", null],
      ["pass", null],
      ["pass", null],
      ["fail", '"not a url" is not a URL that can be called'],
      ["skipped", "A2A 9.9 over GRPC is not supported"],
      ["skipped", "A2A 1.0 over urn:x:pigeon is not supported"],
    ]);
  });

  it("rejects an endpoint, and an agent that is named twice", async () => {
    const wrong = [
      ["doctor", "-e", "http://127.0.0.1:9", "--transport", "rest"],
      ["doctor", "a.example", "-a", "b.example"],
    ];
    for (const argv of wrong) expect((await runIn(argv)).exit).toBe(2);
  });
});

/** Changes the events of a stream. */
const events = (change: (blocks: string[]) => string[]): Planted => ({
  response: (answered, { operation }) => {
    if (operation !== "SendStreamingMessage") return;
    answered.body = change(answered.body.split("\n\n").filter((each) => each.includes("data:")))
      .join("\n\n")
      .concat("\n\n");
  },
});

const isJsonRpc = (headers: Json): boolean => headers["content-type"] === "application/json";

/** Changes JSON-RPC errors, or those of REST. */
const errors = (change: (error: Json) => void): Planted => ({
  response: (answered) => {
    if (answered.status === 200 && !answered.body.startsWith('{"jsonrpc"')) return;
    if (!answered.body.startsWith("{")) return;
    const json = JSON.parse(answered.body);
    if (json.error === undefined) return;
    change(json.error);
    answered.body = JSON.stringify(json);
  },
});

/** Changes the headers of the card's answer. */
const cardHeaders = (change: (headers: Record<string, string>, status: number) => void): Planted => ({
  response: (answered, { path }) => {
    if (path.startsWith("/.well-known/")) change(answered.headers, answered.status);
  },
});

const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const jwks = JSON.stringify({
  keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k1", alg: "ES256", use: "sig" }],
});

let count = 0;

/** Faults, and the check that has to find each. */
const planted: readonly (readonly [about: string, check: string, planted: Planted])[] = [
  ["a card without skills and version", "card", { card: (card) => Object.assign(card, { version: "", skills: [] }) }],
  ["a card with an unknown member", "card", { card: (card) => Object.assign(card, { favouriteColour: "green" }) }],
  [
    "a card at the old path only",
    "place",
    {
      request: (asked) => {
        if (asked.path === "/.well-known/agent-card.json") return { status: 404 };
        asked.path = asked.path.replace("/agent.json", "/agent-card.json");
        return undefined;
      },
    },
  ],
  ["a card as text", "card-type", cardHeaders((headers) => Object.assign(headers, { "content-type": "text/plain" }))],
  ["a card without Cache-Control", "cache", cardHeaders((headers) => delete headers["cache-control"])],
  [
    "a card that is not to be cached",
    "cache",
    cardHeaders((headers) => Object.assign(headers, { "cache-control": "no-store" })),
  ],
  ["a card without an ETag", "etag", cardHeaders((headers) => delete headers.etag)],
  ["an ETag that changes", "etag", cardHeaders((headers) => Object.assign(headers, { etag: `"${++count}"` }))],
  ["a card that ignores If-None-Match", "not-modified", withHeaders({ "if-none-match": undefined })],
  [
    "an interface that is declared twice",
    "interfaces",
    { card: ({ supportedInterfaces }) => supportedInterfaces.push(supportedInterfaces[0]) },
  ],
  [
    "OpenID metadata that is missing",
    "login",
    {
      card: (card) =>
        Object.assign(card, {
          securitySchemes: {
            oidc: {
              openIdConnectSecurityScheme: { openIdConnectUrl: "http://127.0.0.1:9/.well-known/openid-configuration" },
            },
          },
        }),
    },
  ],
  [
    "a signature that does not fit",
    "signatures",
    {
      card: (card) => {
        const [{ url }] = card.supportedInterfaces;
        const head = Buffer.from(JSON.stringify({ alg: "ES256", kid: "k1", typ: "JOSE", jku: `${url}/jwks.json` }));
        card.signatures = [{ protected: head.toString("base64url"), signature: "A".repeat(86) }];
      },
      request: ({ path }) => (path === "/jwks.json" ? { body: jwks } : undefined),
    },
  ],
  [
    "a signature without an algorithm",
    "signatures",
    {
      card: (card) => {
        card.signatures = [
          { protected: Buffer.from('{"alg":"none","kid":"k"}').toString("base64url"), signature: "AA" },
        ];
      },
    },
  ],
  [
    "errors of one kind for everything",
    "unknown-task",
    errors((error) => Object.assign(error, { code: -32603, details: [], data: [] })),
  ],
  ["versions that are ignored", "unknown-version", withHeaders({ "a2a-version": "1.0" })],
  [
    "tasks without a context",
    "send",
    changing("SendMessage", ({ task }) => task && Object.assign(task, { contextId: "" })),
  ],
  ["messages without parts that are accepted", "empty-message", withParts()],
  ["messages to unknown tasks that begin new ones", "send-unknown", withoutTaskIds()],
  ["tasks that are mixed up", "get", changing("GetTask", (task) => task.id && Object.assign(task, { id: "other" }))],
  [
    "a history that cannot be left out",
    "history-length",
    changing(
      "GetTask",
      (task) =>
        task.id &&
        Object.assign(task, { history: [{ messageId: "1", role: "ROLE_USER", parts: [{ text: "hello" }] }] }),
    ),
  ],
  [
    "a cancel that returns another task",
    "cancel",
    {
      request: ({ operation, json }) =>
        operation === "CancelTask" ? { body: answer(json, { ...other, contextId: "c" }) } : undefined,
    },
  ],
  ["messages to finished tasks that begin new ones", "finished-task", withoutTaskIds()],
  ["contexts that are ignored", "other-context", withoutTaskIds()],
  [
    "push notifications that are declared and missing",
    "push",
    {
      card: ({ capabilities }) => Object.assign(capabilities, { pushNotifications: false }),
      request: ({ operation, json }) =>
        operation === "CreateTaskPushNotificationConfig"
          ? { body: answer(json, { id: "1", url: "https://example.org/" }) }
          : undefined,
    },
  ],
  ["lists without the task", "list", changing("ListTasks", (page) => Object.assign(page, { tasks: [] }))],
  [
    "lists with artifacts",
    "list-order",
    changing(
      "ListTasks",
      ({ tasks }) =>
        tasks?.[0] && Object.assign(tasks[0], { artifacts: [{ artifactId: "a", parts: [{ text: "x" }] }] }),
    ),
  ],
  ["lists in the wrong order", "list-order", changing("ListTasks", ({ tasks }) => tasks?.reverse())],
  ["pages that never move on", "list-pages", { request: withoutPageTokens }],
  [
    "streams that are declared and missing",
    "stream",
    { request: ({ operation }) => (operation === "SendStreamingMessage" ? { status: 404, body: "{}" } : undefined) },
  ],
  ["streams that begin with an update", "stream", events(([, ...rest]) => rest)],
  [
    "events of another task",
    "stream-ids",
    changing(
      "SendStreamingMessage",
      ({ statusUpdate }) => statusUpdate && Object.assign(statusUpdate, { contextId: "other" }),
    ),
  ],
  [
    "artifacts after the end",
    "stream-order",
    events((blocks) => [blocks[0]!, blocks[1]!, blocks.at(-1)!, ...blocks.slice(2, -1)]),
  ],
  ["streams that are cut", "stream-end", events((blocks) => blocks.slice(0, -1))],
  [
    "streams that stay open",
    "stream-end",
    {
      response: (answered, { operation }) => {
        answered.staysOpen = operation === "SendStreamingMessage";
      },
    },
  ],
  [
    "streams that lose an artifact",
    "stream-whole",
    events((blocks) => blocks.filter((each) => !each.includes("artifactUpdate"))),
  ],
  ["subscriptions to unknown tasks that hang on", "subscribe-unknown", subscribing("unknown-")],
  ["credentials that are not asked for", "no-credential", { card: (card) => Object.assign(card, guarded) }],
  [
    "an extension that is not required",
    "required-extension",
    {
      card: ({ capabilities }) =>
        Object.assign(capabilities, { extensions: [{ uri: "urn:example:x", required: true }] }),
    },
  ],
  [
    "JSON-RPC as text",
    "media-type",
    { response: ({ headers }) => isJsonRpc(headers) && Object.assign(headers, { "content-type": "text/plain" }) },
  ],
  ["errors without details", "error-data", errors((error) => delete error.data)],
  ["errors of REST without details", "error-details", errors((error) => delete error.details)],
  [
    "errors of another domain",
    "error-details",
    errors(({ details }) => details?.[0] && Object.assign(details[0], { domain: "example.org" })),
  ],
  [
    "errors of REST with 200",
    "error-status",
    {
      response: (answered, { method }) =>
        void (method === "GET" && answered.status === 404 && Object.assign(answered, { status: 400 })),
    },
  ],
  ["ids that become numbers", "request-id", rewriting(undefined, (body) => body.replace('"id":"seven"', '"id":7'))],
  [
    "broken JSON that is answered by HTML",
    "parse-error",
    { request: ({ body }) => (body === "{" ? { status: 500, body: "<h1>oops</h1>" } : undefined) },
  ],
  [
    "methods that do not exist, and are answered",
    "unknown-method",
    {
      request: ({ json }) =>
        json.method === "NoSuchMethod" ? { body: '{"jsonrpc":"2.0","id":7,"result":{}}' } : undefined,
    },
  ],
  [
    "params that are not checked",
    "wrong-params",
    {
      request: ({ json }) =>
        json.params?.id?.wrong
          ? { body: '{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"boom"}}' }
          : undefined,
    },
  ],
  [
    "members that are not known, and refused",
    "unknown-member",
    {
      request: ({ json }) =>
        json.params?.later === 1
          ? { body: '{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"later"}}' }
          : undefined,
    },
  ],
  ["names in snake_case", "names", rewriting("GetTask", (body) => body.replace('"contextId"', '"context_id"'))],
  [
    "states in lower case",
    "names",
    rewriting("GetTask", (body) => body.replaceAll("TASK_STATE_COMPLETED", "completed")),
  ],
  [
    "times that are not in UTC",
    "names",
    rewriting("GetTask", (body) => body.replace(/("timestamp":"[^"]+)Z"/, '$1+00:00"')),
  ],
  [
    "calls without a version that are answered",
    "no-version",
    {
      request: (asked) => {
        asked.headers = { "a2a-version": "1.0", ...asked.headers };
        return undefined;
      },
    },
  ],
  [
    "interfaces that show different tasks",
    "alike",
    changing(
      "GetTask",
      (task, { method }) => void (method === "GET" && task.artifacts && Object.assign(task, { artifacts: [] })),
    ),
  ],
];

const guarded = {
  securitySchemes: { b: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
  securityRequirements: [{ schemes: { b: { list: [] } } }],
};

/** A task other than the requested one. */
const other = { id: "other", status: { state: "TASK_STATE_CANCELED" } };

/** Returns the body of an answer: a JSON-RPC response for a JSON-RPC request. */
const answer = (asked: Json, result: object): string =>
  JSON.stringify(asked.jsonrpc === undefined ? result : { jsonrpc: "2.0", id: asked.id, result });

/** Adds a part to requests whose message has none. */
function withParts(): Planted {
  return {
    request: (asked) => {
      const { message } = asked.json.params ?? asked.json;
      if (message?.parts?.length > 0 || message === undefined) return undefined;
      message.parts = [{ text: "x" }];
      asked.body = JSON.stringify(asked.json);
      return undefined;
    },
  };
}

function withoutTaskIds(): Planted {
  return {
    request: (asked) => {
      if (asked.operation === "SendMessage")
        asked.body = asked.body.replaceAll(/"(?:taskId|contextId)":"[^"]*",?/g, "");
      return undefined;
    },
  };
}

/** Changes the headers that the agent receives. */
function withHeaders(headers: Readonly<Record<string, string | undefined>>): Planted {
  return {
    request: (asked) => {
      asked.headers = { ...asked.headers, ...headers };
      return undefined;
    },
  };
}

/** Rewrites the bodies of answers. @param only the operation; undefined for all */
function rewriting(only: string | undefined, change: (body: string) => string): Planted {
  return {
    response: (answered, { operation }) => {
      if (only === undefined || operation === only) answered.body = change(answered.body);
    },
  };
}

function withoutPageTokens(asked: { path: string; body: string; operation: string }): undefined {
  if (asked.operation !== "ListTasks") return undefined;
  asked.path = asked.path.replace(/pageToken=[^&]*/, "");
  asked.body = asked.body.replace(/,?"pageToken":"[^"]*"/, "");
  return undefined;
}

/** Answers subscriptions to some tasks with an empty stream. */
function subscribing(prefix: string): Planted {
  return {
    request: ({ operation, path, body }) =>
      operation === "SubscribeToTask" && (path + body).includes(prefix)
        ? { headers: { "content-type": "text/event-stream" }, body: "" }
        : undefined,
  };
}

describe("doctor finds", { timeout: 60_000 }, () => {
  let proxy: FaultyProxy;
  let host: string;
  let sound: World;

  beforeAll(async () => {
    sound = await openWorld({ strictVersion: true });
    proxy = new FaultyProxy(sound.server.port);
    host = await proxy.listen();
  });
  afterEach(() => {
    proxy.planted = {};
  });
  afterAll(async () => {
    await proxy.close();
    await sound.close();
  });

  it("nothing behind the proxy itself", async () => {
    const { json } = await runIn(["doctor", host, "-o", "json"]);
    expect(namesIn(json).details).toEqual([]);
  });

  it.each(everyNth(planted, 8))("%s (%s)", async (_, check, fault) => {
    proxy.planted = fault;
    const { json, exit, out } = await runIn(["doctor", host, "-o", "json", "--bearer", "b"]);
    const { names, details } = namesIn(json);
    expect(names, details.join("\n") || out).toContain(check);
    const lines = json.checks.filter((line: Json) => line.result === "fail" && line.check === check);
    for (const { mend, section, detail } of lines) {
      expect(mend.length).toBeGreaterThan(10);
      expect(section).toMatch(/^\d+(\.\d+)*$/);
      expect(detail).not.toBe("");
    }
    expect(exit, out).toBe(json.summary.faults > 0 ? 1 : 0);
  });
});
