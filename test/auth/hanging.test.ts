import { afterEach, describe, expect, it } from "vitest";
import { authentication } from "../../src/auth/checks-under-way.js";
import { apiKeyScheme, type CallerInput, customScheme, Refusal } from "../../src/auth/index.js";
import {
  type A2AOptions,
  type AuditRecord,
  type Call,
  createServer,
  type Server,
  type ServiceInterceptor,
} from "../../src/index.js";
import { interceptors } from "../../src/service/interceptors/bound-interceptors.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { setConstants } from "../support/constants.js";

/**
 * Functions of an author that never answer. They occupy nothing of the server, and the client waits no longer than the
 * limit.
 */

const callerOf = (call: Call): Promise<CallerInput> | CallerInput => {
  const user = call.header("x-user");
  if (user === "late") return new Promise((resolve) => setTimeout(resolve, 300, { owner: "late" }));
  if (user === "broken") return new Promise((_, reject) => setTimeout(reject, 300, new Error("too late")));
  return user === "hang" ? new Promise(() => {}) : { owner: user ?? "nobody" };
};

const hangs = async (call: Call): Promise<void> => {
  await callerOf(call);
};

const before: ServiceInterceptor = (next) => async (invocation) => {
  await hangs(invocation.call);
  return next(invocation);
};
const behind: ServiceInterceptor = (next) => async (invocation) => {
  const answer = await next(invocation);
  await hangs(invocation.call);
  return answer;
};

const agent = obedient("hanging");
const scheme = customScheme({
  card: { httpAuthSecurityScheme: { scheme: "X" } },
  authenticate: (call) => (call.header("x-user") === undefined ? new Refusal("No user.") : callerOf(call)),
});
const open = apiKeyScheme({ in: "header", name: "X-Any", check: () => ({ owner: "any" }) });

/** Options with a function that does not answer, by its place. */
const places: Record<string, Partial<A2AOptions>> = {
  "an authenticator": { agent, authenticator: { authenticate: (call) => callerOf(call) } },
  "a scheme": { agent: { ...agent, security: { schemes: { scheme } } } },
  "one of two schemes": {
    agent: { ...agent, security: { schemes: { open, scheme }, require: [{ open: [], scheme: [] }] } },
  },
  "an interceptor before the call": { agent, interceptors: [before] },
  "an interceptor behind the call": { agent, interceptors: [behind] },
};

let server: Server | undefined;
const records: AuditRecord[] = [];
afterEach(async () => {
  await server?.close({ graceMs: 0 });
  records.splice(0);
});

async function serve(options: Partial<A2AOptions>, timeoutMs: number): Promise<Server> {
  for (const constants of [authentication, interceptors]) setConstants(constants, { timeoutMs });
  server = await createServer({
    ...(options as A2AOptions),
    store: memoryStore(),
    audit: { write: (record) => void records.push(record) },
    port: 0,
    grpcPort: 0,
    limits: { maxCalls: 1, shutdownGraceMs: 50 },
  });
  return server;
}

const list = ({ url }: Server, user: string, signal?: AbortSignal): Promise<Response> =>
  fetch(`${url}/tasks`, {
    headers: { "a2a-version": "1.0", "x-user": user, "x-any": "k" },
    ...(signal && { signal }),
  });

const unhandled: unknown[] = [];
process.on("unhandledRejection", (reason) => unhandled.push(reason));

describe.each(Object.entries(places))("%s that never answers", (_place, options) => {
  it("holds no call whose client has left", async () => {
    const running = await serve(options, 600_000);
    const left = new AbortController();
    const hanging = list(running, "hang", left.signal).catch(() => "left");
    await expect.poll(async () => (await list(running, "alice")).status).toBe(429);
    left.abort();
    expect(await hanging).toBe("left");
    await expect.poll(async () => (await list(running, "alice")).status).toBe(200);
  });

  it("holds its client for no longer than its limit", async () => {
    const running = await serve(options, 100);
    const answer = await list(running, "hang");
    expect([answer.status, await answer.json()]).toMatchObject([503, { error: { status: "UNAVAILABLE" } }]);
    expect((await list(running, "alice")).status).toBe(200);
  });

  it("changes nothing and breaks nothing when it answers too late", async () => {
    const running = await serve(options, 100);
    expect((await list(running, "late")).status).toBe(503);
    expect((await list(running, "broken")).status).toBe(503);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(unhandled).toEqual([]);
    expect((await list(running, "alice")).status).toBe(200);
  });
});

describe("the audit log", () => {
  it("says that credentials could not be checked in time", async () => {
    const running = await serve(places["a scheme"] ?? {}, 100);
    await list(running, "hang");
    expect(records.filter(({ event }) => event === "authentication.failed")).toMatchObject([
      { reason: "timeout", address: "127.0.0.1", method: "ListTasks" },
    ]);
  });
});
