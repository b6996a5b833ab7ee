import fastify, { type FastifyInstance } from "fastify";
import { afterEach, describe, expect, it } from "vitest";
import { parleyFastify } from "../src/fastify.js";
import { artifact, completed } from "../src/index.js";
import { type A2A, createA2A } from "../src/server/create-a2a.js";
import type { A2AOptions } from "../src/server/options.js";
import { memoryStore } from "../src/store/memory/index.js";

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

function make(more: Partial<A2AOptions> = {}): A2A {
  const agent = {
    card: { name: "Greeter", description: "Greets.", version: "1.0.0" },
    async *execute({ text }: { readonly text: string }) {
      yield artifact({ name: "greeting", text: `Hello ${text}!` });
      yield completed();
    },
  };
  const a2a = createA2A({ agent, store: memoryStore(), ...more });
  opened.push(() => a2a.close({ graceMs: 0 }));
  return a2a;
}

async function serve(build: (app: FastifyInstance) => void): Promise<string> {
  const app = fastify({ forceCloseConnections: true });
  opened.push(() => app.close());
  build(app);
  return app.listen({ port: 0, host: "127.0.0.1" });
}

const json = { "content-type": "application/json", "a2a-version": "1.0" };
const params = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "Ann" }] } };
const hello = { artifacts: [{ parts: [{ text: "Hello Ann!" }] }], status: { state: "TASK_STATE_COMPLETED" } };

const post = (url: string, body: unknown): Promise<Response> =>
  fetch(url, { method: "POST", headers: json, body: JSON.stringify(body) });

/** Checks JSON-RPC, HTTP+JSON and the card below a URL, and the URL in the card. */
async function expectAt(url: string): Promise<void> {
  expect(await (await post(`${url}/message:send`, params)).json()).toMatchObject({ task: hello });
  const call = { jsonrpc: "2.0", id: 1, method: "SendMessage", params };
  expect(await (await post(url, call)).json()).toMatchObject({ id: 1, result: { task: hello } });
  const card = (await (
    await fetch(`${url}/.well-known/agent-card.json`, { headers: { "A2A-Version": "1.0" } })
  ).json()) as {
    supportedInterfaces: { url: string }[];
  };
  expect(new Set(card.supportedInterfaces.map((each) => each.url))).toEqual(new Set([url]));
}

describe("app.register(parleyFastify)", () => {
  it("stands beside the app's routes, whose bodies are parsed as ever", async () => {
    const url = await serve((app) => {
      app.register(parleyFastify, { a2a: make() });
      app.get("/", async () => "An app of its own.");
      app.post("/own", async ({ body }) => ({ body }));
    });
    await expectAt(url);
    expect(await (await fetch(url)).text()).toBe("An app of its own.");
    expect(await (await post(`${url}/own`, { a: 1 })).json()).toEqual({ body: { a: 1 } });
  });

  it("stands below a prefix, that of a plugin around it as well", async () => {
    const url = await serve((app) => {
      app.register(parleyFastify, { a2a: make(), prefix: "/one" });
      app.register(async (scope) => void scope.register(parleyFastify, { a2a: make(), prefix: "/two" }), {
        prefix: "/outer",
      });
      app.get("/", async () => "An app of its own.");
    });
    await expectAt(`${url}/one`);
    await expectAt(`${url}/outer/two`);
    expect((await post(`${url}/message:send`, params)).status).toBe(404);
    expect((await post(`${url}/onemessage:send`, params)).status).toBe(404);
  });

  it("leaves what is for nobody to the app, with the URL as it came", async () => {
    const seen: (string | undefined)[] = [];
    const url = await serve((app) => {
      app.setNotFoundHandler((request, reply) => void reply.code(404).send({ nothing: request.url }));
      app.addHook("onResponse", async (request) => void seen.push(request.originalUrl));
      app.register(parleyFastify, { a2a: make(), prefix: "/one" });
    });
    const missing = await fetch(`${url}/one/nowhere?a=b`);
    expect([missing.status, await missing.json()]).toEqual([404, { nothing: "/one/nowhere?a=b" }]);
    expect((await fetch(`${url}/one`)).status).toBe(404);
    await (await post(`${url}/one/message:send`, params)).text();
    await expect.poll(() => seen).toEqual(["/one/nowhere?a=b", "/one", "/one/message:send"]);
  });

  it("reads bodies by Parley's limits and not by the app's", async () => {
    const text = "x".repeat(2_000_000);
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text }] };
    const url = await serve((app) => void app.register(parleyFastify, { a2a: make() }));
    expect((await post(`${url}/message:send`, { message })).status).toBe(200);
    const strict = await serve((app) => {
      app.register(parleyFastify, { a2a: make({ limits: { maxRequestBytes: 1_000 } }) });
    });
    expect((await post(`${strict}/message:send`, { message })).status).toBe(413);
  });

  it("hears of a client that goes away", async () => {
    const seen: AbortSignal[] = [];
    const agent = {
      card: { name: "Endless", description: "Goes on.", version: "1.0.0" },
      responds: "message" as const,
      async *execute({ signal }: { readonly signal: AbortSignal }) {
        seen.push(signal);
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
        yield completed();
      },
    };
    const url = await serve((app) => void app.register(parleyFastify, { a2a: make({ agent }) }));
    const leave = new AbortController();
    const body = JSON.stringify(params);
    const answer = fetch(`${url}/message:send`, { method: "POST", headers: json, body, signal: leave.signal });
    await expect.poll(() => seen.length).toBe(1);
    leave.abort();
    await expect(answer).rejects.toThrow();
    await expect.poll(() => seen[0]?.aborted).toBe(true);
  });

  it("says what is missing, and refuses a prefix that no card can name", async () => {
    const without = fastify().register(parleyFastify, {} as never);
    await expect(without.ready()).rejects.toThrow("parleyFastify needs { a2a }");
    const parametric = fastify().register(parleyFastify, { a2a: make(), prefix: "/:tenant" });
    await expect(parametric.ready()).rejects.toThrow("the prefix /:tenant has parameters");
  });
});
