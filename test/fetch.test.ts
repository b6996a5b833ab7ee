import { afterEach, describe, expect, it } from "vitest";
import { artifact, completed, createFetchA2A, defaultLimits, reply } from "../src/fetch.js";
import type { FetchA2A } from "../src/server/create-fetch-a2a.js";
import { memoryStore } from "../src/store/memory/index.js";
import { importGraph, isBuiltin } from "./support/import-graph.js";

const card = { name: "Anywhere", description: "Runs in any runtime.", version: "1.0.0" };
const opened: FetchA2A[] = [];
afterEach(async () => {
  for (const a2a of opened.splice(0)) await a2a.close({ graceMs: 0 });
});

function serve(more: Partial<Parameters<typeof createFetchA2A>[0]> = {}): FetchA2A {
  const agent = {
    card,
    responds: "message" as const,
    async *execute(turn: { readonly text: string }) {
      yield reply(`You said: ${turn.text}`);
    },
  };
  const a2a = createFetchA2A({ agent, store: memoryStore(), ...more } as Parameters<typeof createFetchA2A>[0]);
  opened.push(a2a);
  return a2a;
}

/** An agent whose task runs until it is canceled. */
const endless = {
  card,
  async *execute({ signal }: { readonly signal: AbortSignal }) {
    yield artifact({ name: "a", text: "first" });
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    yield completed();
  },
};

const message = (text: string): object => ({ messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }] });

function post(path: string, json: unknown, init: RequestInit = {}): Request {
  const headers = { "content-type": "application/json", "a2a-version": "1.0", ...init.headers };
  return new Request(`https://agents.example${path}`, { method: "POST", body: JSON.stringify(json), ...init, headers });
}

describe("createA2A().fetch", () => {
  it("serves every binding, the card and health", async () => {
    const { fetch } = serve();
    const said = { message: { role: "ROLE_AGENT", parts: [{ text: "You said: hi" }] } };
    const params = { message: message("hi") };
    expect(await (await fetch(post("/message:send", params))).json()).toMatchObject(said);
    const rpc = { jsonrpc: "2.0", id: 1, method: "SendMessage", params };
    expect(await (await fetch(post("/", rpc))).json()).toMatchObject({ id: 1, result: said });
    expect(await (await fetch(post("/lf.a2a.v1.A2AService/SendMessage", params))).json()).toMatchObject(said);
    const headers = { "a2a-version": "1.0" };
    const shown = await fetch(new Request("https://agents.example/.well-known/agent-card.json", { headers }));
    expect(await shown.json()).toMatchObject({
      name: "Anywhere",
      supportedInterfaces: [{ url: "https://agents.example", protocolBinding: "JSONRPC" }, {}, {}],
    });
    expect(await (await fetch(new Request("https://agents.example/readyz"))).json()).toEqual({ status: "ready" });
  });

  it("answers unknown paths with 404, and gRPC, which needs trailers, with UNIMPLEMENTED", async () => {
    const { fetch } = serve();
    expect((await fetch(new Request("https://agents.example/nowhere"))).status).toBe(404);
    const headers = { "content-type": "application/grpc+proto" };
    const grpc = await fetch(post("/lf.a2a.v1.A2AService/SendMessage", {}, { headers }));
    expect([grpc.status, grpc.headers.get("grpc-status")]).toEqual([200, "12"]);
  });

  it("sends no push notifications, and says so where it is asked to", () => {
    expect(() => serve({ push: true })).toThrow("push needs Node.js");
  });

  it("says where a call came from, if the runtime does", async () => {
    const seen: unknown[] = [];
    const authenticator = {
      authenticate: (call: { readonly peer: unknown }) => {
        seen.push(call.peer);
        return { owner: "a" };
      },
    };
    const { fetch } = serve({ authenticator } as never);
    await fetch(post("/message:send", { message: message("hi") }), { remoteAddress: "192.0.2.1" });
    // Some runtimes pass another kind of object as the second argument.
    await fetch(post("/message:send", { message: message("hi") }), { remoteAddress: {} } as never);
    expect(seen).toEqual([
      { address: "192.0.2.1", encrypted: true },
      { address: "", encrypted: true },
    ]);
  });

  it("refuses what is too large", async () => {
    const { fetch } = serve({ limits: { maxRequestBytes: 1_000 } });
    const answer = await fetch(post("/message:send", { message: message("x".repeat(2_000)) }));
    expect(answer.status).toBe(413);
  });

  it.each([
    ["its signal", (_body: ReadableStream, controller: AbortController) => controller.abort()],
    ["its body", (body: ReadableStream) => void body.cancel()],
  ])("ends a stream whose reader leaves by %s", async (_name, leave) => {
    const { fetch } = serve({ agent: endless, limits: { ...defaultLimits, maxStreams: 1 } } as never);
    const open = (signal: AbortSignal): Promise<Response> =>
      fetch(post("/message:stream", { message: message("go") }, { signal }));
    const controller = new AbortController();
    const first = await open(controller.signal);
    expect(first.status).toBe(200);
    const second = await open(new AbortController().signal);
    expect(second.status).toBe(429);
    leave(first.body as ReadableStream, controller);
    // Another stream fits as soon as the first one is closed.
    await expect
      .poll(async () => {
        const next = await open(new AbortController().signal);
        if (next.status === 200) await next.body?.cancel();
        return next.status;
      })
      .toBe(200);
  });
});

describe("the body of a stream whose client goes away", () => {
  const begin = async (): Promise<{ reader: ReadableStreamDefaultReader<Uint8Array>; controller: AbortController }> => {
    const { fetch } = serve({ agent: endless } as never);
    const controller = new AbortController();
    const { body } = await fetch(post("/message:stream", { message: message("go") }, { signal: controller.signal }));
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    return { reader, controller };
  };

  it("fails with the reason of the signal for whoever reads on", async () => {
    const { reader, controller } = await begin();
    controller.abort();
    const readOn = async (): Promise<void> => {
      while (!(await reader.read()).done);
    };
    await expect(readOn()).rejects.toMatchObject({ name: "AbortError" });
  });

  it("fails for no server that aborts the signal and then cancels the body: it would print that", async () => {
    const { reader, controller } = await begin();
    controller.abort("the connection was closed");
    void reader.cancel();
    await expect(reader.closed).resolves.toBeUndefined();
  });
});

/** Modules that Cloudflare's workerd offers with `nodejs_compat`. */
const offered = ["node:buffer", "node:crypto", "node:net", "node:tls"];

/** Packages that need only these modules. The first JSON Schema of a form loads ajv. */
const packages = [
  "@bufbuild/protobuf",
  "@connectrpc/connect",
  "ajv",
  "ajv-formats",
  "canonicalize",
  "jose",
  "proxy-addr",
];

describe("the entry point for other runtimes", () => {
  const { files, outside } = importGraph("src/fetch.ts", "src/store/memory/index.ts");

  it("imports no module of Node.js but those that workerd has", () => {
    expect([...outside].filter(([name]) => isBuiltin(name) && !offered.includes(name))).toEqual([]);
    // These checks show that the walk finds files and modules.
    expect(files.size).toBeGreaterThan(100);
    expect([...importGraph("src/index.ts").outside.keys()]).toContain("node:http2");
  });

  it("imports few packages, and none that is made for Node.js", () => {
    const bare = [...outside].filter(([name]) => !isBuiltin(name));
    const others = bare.filter(([name]) => !packages.some((known) => name === known || name.startsWith(`${known}/`)));
    expect(others).toEqual([]);
  });
});
