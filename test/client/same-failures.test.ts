import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { completed } from "../../src/agent/event.js";
import type { A2AClient } from "../../src/client/client.js";
import type { ClientOptions } from "../../src/client/options.js";
import { A2AError } from "../../src/core/error.js";
import { remoteBounds } from "../../src/delegation/remotes.js";
import { DelegationError } from "../../src/index.js";
import { IDEMPOTENCY_EXTENSION } from "../../src/wire/service-params.js";
import { agentOf, Servers } from "../delegation/servers.js";
import { setConstantsOfFile } from "../support/constants.js";
import { cardJson } from "./card-server.js";
import { atEnd, closedPort, connect } from "./world.js";

setConstantsOfFile(remoteBounds, { maxOutageMs: 300 });

const servers = new Servers();
afterEach(() => servers.close());

type Binding = "JSONRPC" | "HTTP+JSON";

/** An agent's failure of a message, and the facts that the caller receives. */
interface Failure {
  readonly name: string;
  /** Writes the answer. Undefined cuts the connection. */
  readonly answer?: ((response: ServerResponse, binding: Binding) => unknown) | undefined;
  readonly reason: string;
  /** True if it is unknown whether the message arrived. */
  readonly isDoubtful?: boolean;
  readonly retryAfterMs?: number;
  /** True for a temporary failure. The message is then repeated if the agent declares idempotency. */
  readonly passes?: boolean;
}

const json = (response: ServerResponse, status: number, body: object): unknown =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

/** The agent's own error in the form of each binding. */
const told =
  (code: number, status: number, name: string) =>
  (response: ServerResponse, binding: Binding): unknown =>
    binding === "JSONRPC"
      ? json(response, 200, { jsonrpc: "2.0", id: 1, error: { code, message: "It broke." } })
      : json(response, status, { error: { code: status, status: name, message: "It broke." } });

const http = (status: number, headers: Record<string, string> = {}) => ({
  answer: (response: ServerResponse) => response.writeHead(status, headers).end(),
});

const failures: readonly Failure[] = [
  { name: "the agent's own error", answer: told(-32603, 500, "INTERNAL"), reason: "INTERNAL" },
  { name: "a refusal of the message", answer: told(-32602, 400, "INVALID_ARGUMENT"), reason: "INVALID_PARAMS" },
  { name: "a cut", answer: undefined, reason: "UNAVAILABLE", isDoubtful: true, passes: true },
  { name: "503", ...http(503), reason: "UNAVAILABLE", isDoubtful: true, passes: true },
  { name: "429", ...http(429), reason: "TOO_MANY_REQUESTS", passes: true },
  {
    name: "429 for a minute",
    ...http(429, { "retry-after": "60" }),
    reason: "TOO_MANY_REQUESTS",
    retryAfterMs: 60_000,
  },
  { name: "403", ...http(403), reason: "PERMISSION_DENIED" },
  {
    name: "an answer of somebody else",
    answer: (response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>Hello"),
    reason: "INVALID_AGENT_RESPONSE",
  },
];

/** A server that fails every send in one way. Returns its card and the keys of the sends. */
async function failing(failure: Failure, binding: Binding, promises: boolean) {
  const keys: unknown[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      if (request.url?.endsWith("agent-card.json") === true) return json(response, 200, card);
      if (/\/tasks\b/.test(request.url ?? "") || body.includes("ListTasks")) return json(response, 404, {});
      keys.push(request.headers["idempotency-key"]);
      if (failure.answer === undefined) return request.socket.destroy();
      return failure.answer(response, binding);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const card = cardJson({
    supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: "1.0" }],
    capabilities: { streaming: true, extensions: promises ? [{ uri: IDEMPOTENCY_EXTENSION }] : [] },
  });
  return { url, card, keys };
}

const thrown = (call: Promise<unknown>): Promise<A2AError> =>
  call.then(
    () => expect.fail("The call did not fail."),
    (error: A2AError) => error,
  );

const drained = async (updates: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of updates);
};

interface Sending {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/** Ways to send a message. The limits end all repetitions soon. */
const ways: Readonly<Record<string, (client: A2AClient, options?: Sending) => Promise<unknown>>> = {
  send: (client, options) => client.send("x", options),
  stream: (client, options) => drained(client.stream("x", options)),
  "stream of an agent without streams": (client, options) => drained(client.stream("x", options)),
};

const limits: ClientOptions["limits"] = { maxResumeMs: 300, retryMs: 1, maxRetryMs: 20 };

/** The error that a delegating agent catches. */
async function ofDelegation(url: string): Promise<A2AError> {
  const got: A2AError[] = [];
  const front = agentOf("Front", async function* (turn) {
    try {
      yield* turn.delegate("other");
    } catch (error) {
      if (error instanceof DelegationError) got.push(error.cause as A2AError);
    }
    yield completed();
  });
  const server = await servers.serve(front, { remoteAgents: { other: url } });
  const client = await connect(server.url);
  await client.send("x");
  return got[0] ?? expect.fail("The delegation did not fail.");
}

const facts = ({ reason, metadata, retryAfterMs }: A2AError) => ({
  reason,
  arrival: metadata.arrival,
  hasKey: metadata.idempotencyKey !== undefined,
  retryAfterMs,
});

const bindings: readonly Binding[] = ["JSONRPC", "HTTP+JSON"];
const cases = bindings.flatMap((binding) =>
  [true, false].flatMap((promises) => failures.map((failure) => ({ ...failure, failure, binding, promises }))),
);

describe("a message that fails", () => {
  it.each(cases)(
    "by $name over $binding fails in the same way however it is sent (idempotent: $promises)",
    async ({ failure, binding, promises }) => {
      const { reason, isDoubtful = false, retryAfterMs, passes = false } = failure;
      for (const [way, send] of [...Object.entries(ways), ["delegation", undefined] as const]) {
        const { url, card, keys } = await failing(failure, binding, promises);
        const capabilities = way.includes("without")
          ? { ...(card.capabilities as object), streaming: false }
          : undefined;
        const client = await connect({ ...card, ...(capabilities && { capabilities }) }, { limits });
        const error = send === undefined ? await ofDelegation(url) : await thrown(send(client));
        const hasKey = isDoubtful && (promises || way === "delegation");
        const arrival = isDoubtful ? "unknown" : undefined;
        expect({ way, ...facts(error) }).toEqual({ way, reason, arrival, hasKey, retryAfterMs });
        if (passes && promises) expect(keys.length, way).toBeGreaterThan(1);
        else expect(keys.length, way).toBe(1);
        expect(new Set(keys).size).toBe(1);
      }
    },
  );

  it.each(Object.entries(ways))("before it leaves fails at once, by %s", async (way, send) => {
    const { card, keys } = await failing(failures[0] as Failure, "JSONRPC", true);
    const broken = new TypeError("A mistake.");
    let tries = 0;
    const interceptor = () => () => {
      tries++;
      throw broken;
    };
    const capabilities = { ...(card.capabilities as object), streaming: !way.includes("without") };
    const client = await connect({ ...card, capabilities }, { limits, interceptors: [interceptor] });
    const error = await thrown(send(client));
    expect([error.reason, error.cause, error.metadata.arrival, tries, keys.length]).toEqual([
      "INTERNAL",
      broken,
      undefined,
      1,
      0,
    ]);
  });

  it.each(Object.entries(ways))("as nobody listens says that it has not arrived, by %s", async (way, send) => {
    const url = `http://127.0.0.1:${await closedPort()}`;
    const supportedInterfaces = [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }];
    const capabilities = { streaming: !way.includes("without") };
    const client = await connect(cardJson({ supportedInterfaces, capabilities }), { limits });
    expect(facts(await thrown(send(client)))).toMatchObject({ reason: "UNAVAILABLE", arrival: undefined });
  });
});

const silent: Failure = { name: "silence", answer: () => {}, reason: "" };

/** Ways in which a caller ends an unanswered call, with the reason of the error. */
const ends: readonly { readonly name: string; readonly options: () => Sending; readonly reason: string }[] = [
  { name: "timeoutMs", options: () => ({ timeoutMs: 50 }), reason: "DEADLINE_EXCEEDED" },
  { name: "AbortSignal.timeout()", options: () => ({ signal: AbortSignal.timeout(50) }), reason: "DEADLINE_EXCEEDED" },
  { name: "a signal", options: () => ({ signal: soonAborted() }), reason: "CANCELLED" },
  { name: "a signal with an A2AError", options: () => ({ signal: soonAborted(limit) }), reason: "TOO_MANY_REQUESTS" },
];

const limit = new A2AError("TOO_MANY_REQUESTS", "Enough.");

function soonAborted(reason?: unknown): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 50);
  return controller.signal;
}

describe("a call that its caller ends", () => {
  it.each(ends.flatMap((end) => [true, false].map((promises) => ({ ...end, promises }))))(
    "by $name fails in the same way, whatever it is (idempotent: $promises)",
    async ({ options, reason, promises }) => {
      const { card } = await failing(silent, "JSONRPC", promises);
      const isLate = reason === "DEADLINE_EXCEEDED";
      for (const [way, send] of Object.entries(ways)) {
        const capabilities = { ...(card.capabilities as object), streaming: !way.includes("without") };
        const client = await connect({ ...card, capabilities }, { limits });
        const arrival = isLate ? "unknown" : undefined;
        const error = await thrown(send(client, options()));
        expect({ way, ...facts(error) }).toMatchObject({ way, reason, arrival, hasKey: isLate && promises });
      }
    },
  );

  it.each(ends)("by $name fails in the same way where no message is sent", async ({ options, reason }) => {
    const { card } = await failing(silent, "JSONRPC", true);
    const client = await connect(card, { limits });
    const calls: Readonly<Record<string, (options: Sending) => Promise<unknown>>> = {
      getTask: (given) => client.getTask({ id: "a" }, given),
      subscribeToTask: (given) => drained(client.subscribeToTask({ id: "a" }, given)),
      follow: (given) => drained(client.follow("a", given)),
      cancelTask: (given) => client.cancelTask({ id: "a" }, given),
    };
    for (const [name, call] of Object.entries(calls)) {
      expect([name, (await thrown(call(options()))).reason]).toEqual([name, reason]);
    }
  });
});
