import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { adminBounds } from "../../src/admin/limits.js";
import { unverified } from "../../src/auth/checks-under-way.js";
import { customScheme, Refusal } from "../../src/auth/index.js";
import type { Limits } from "../../src/core/limits.js";
import { remoteBounds } from "../../src/delegation/remotes.js";
import { artifactSize } from "../../src/engine/log/plan.js";
import { queuedMessages } from "../../src/engine/run/execution-slots.js";
import { waitingTurns } from "../../src/engine/send/acceptance.js";
import { requestValues } from "../../src/http/body.js";
import { arriving } from "../../src/http/inbound-budget.js";
import { type Agent, createServer, type Server } from "../../src/index.js";
import { taskSubscriptions } from "../../src/service/caller-shares.js";
import { requestRates } from "../../src/service/interceptors/caller-limits.js";
import { openRequests } from "../../src/service/interceptors/request-memory.js";
import { outgoingWait } from "../../src/service/outgoing-budget.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { refusingLimits } from "../../src/telemetry/metrics.js";
import { bearer, operators, tokens } from "../admin/world.js";
import { gates, obedient } from "../conformance/agents.js";
import { http2Client } from "../network/raw-http.js";
import { bytesOf, envelope } from "../network/requests.js";
import { setConstants } from "../support/constants.js";
import { seriesOf } from "../telemetry/read.js";
import { leave, newGate, say } from "./world.js";

/* Each limit counts its refusals under its own name. The other files test the refusals over each binding. */

vi.setConfig({ testTimeout: 60_000 });

const KIB = 1024;

let server: Server;
afterEach(() => server.close({ graceMs: 0 }));

const named = customScheme({
  card: { httpAuthSecurityScheme: { scheme: "X" } },
  authenticate: (call) => {
    const owner = call.header("x-owner") ?? "";
    if (owner === "nobody") return new Refusal("Who is that?");
    return owner === "slow" ? new Promise(() => {}) : { owner };
  },
});

const limited = obedient("limited", {}, { security: { schemes: { named } } });

/** Delegates to another agent on request. */
const delegating: Agent = {
  ...limited,
  execute: (turn) => (turn.text === "delegate" ? turn.delegate("nobody") : limited.execute(turn)),
};

async function start(limits: Partial<Limits>): Promise<void> {
  server = await createServer({
    agent: delegating,
    remoteAgents: { nobody: "http://127.0.0.1:1" },
    store: memoryStore(),
    port: 0,
    grpcPort: 0,
    metrics: true,
    limits: { shutdownGraceMs: 50, ...limits },
    push: { allow: ["127.0.0.1"] },
    admin: { listen: "127.0.0.1:0", tokens: operators },
  });
}

/** Sends a request whose answer may come late or never. */
function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  const all = { "content-type": "application/json", "a2a-version": "1.0", "x-owner": "alice", ...headers };
  return fetch(`${server.url}${path}`, { method: "POST", headers: all, body: JSON.stringify(body) });
}

const send = (body: object, owner = "alice"): Promise<Response> => post("/message:send", body, { "x-owner": owner });
const list = (owner = "alice"): Promise<Response> => fetch(`${server.url}/tasks`, { headers: { "x-owner": owner } });
const follow = (): Promise<Response> => post("/message:stream", say(`wait ${newGate()}`));
const hold = (): Promise<Response> => send(say(`wait ${newGate()}`));

/** Creates a task. Returns its id. */
async function made(body: object, owner = "alice"): Promise<string> {
  const { task } = (await (await send(body, owner)).json()) as { task: { id: string } };
  return task.id;
}

/** Starts something several times at once. */
function times<T>(count: number, cause: () => Promise<T>): void {
  for (let i = 0; i < count; i++) void cause().catch(() => {});
}

/** Writes the start of a request whose body never ends. */
async function arrive(localAddress: string, bytes: number): Promise<void> {
  const socket = connect({ port: Number(new URL(server.url).port), host: "127.0.0.1", localAddress });
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  await once(socket, "connect");
  const head = `POST /message:send HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json`;
  socket.write(`${head}\r\ncontent-length: ${bytes + 1}\r\n\r\n${" ".repeat(bytes)}`);
}

async function configure(): Promise<void> {
  const path = `/tasks/${await made(leave(`wait ${newGate()}`))}/pushNotificationConfigs`;
  times(2, () => post(path, { url: "https://127.0.0.1/" }));
}

/** Starts to read large tasks over connections that accept no more bytes. */
async function readSlowly(owners: readonly string[]): Promise<void> {
  setConstants(outgoingWait, { timeoutMs: 50 });
  for (const owner of owners) {
    const id = await made(say(`echo ${"x".repeat(8 * KIB * KIB)}`), owner);
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1").pause();
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    socket.write(`GET /tasks/${id} HTTP/1.1\r\nhost: localhost\r\nx-owner: ${owner}\r\n\r\n`);
  }
}

/** Gets or streams a large task over gRPC. @returns the status */
async function readLarge(port: number | undefined, type: string, rpc = "GetTask"): Promise<string | undefined> {
  const text = say(`echo ${"x".repeat(200 * KIB)}`);
  const request = rpc === "GetTask" ? { id: await made(text) } : text;
  const headers = { "content-type": type, te: "trailers", "x-owner": "alice" };
  const body = envelope(bytesOf({ rpc, request }));
  const answer = await http2Client(Number(port))({ path: `/${A2AService.typeName}/${rpc}`, headers, body });
  return /grpc-status(?:": ?"|: )(\d+)/.exec(`${JSON.stringify(answer.headers)} ${answer.body}`)?.[1];
}

async function subscribe(): Promise<void> {
  const id = await made(leave(`wait ${newGate()}`));
  times(2, () => post(`/tasks/${id}:subscribe`, {}));
}

function operate(path: string): Promise<Response> {
  return fetch(`${server.adminUrl}${path}`, { headers: bearer(tokens.read) });
}

const shortBurst = (): void => setConstants(requestRates, { burstMs: 1_000 });
const large = { metadata: { text: "x".repeat(30 * KIB) } };
const roomy = { maxMessageBytes: 16 * KIB * KIB, maxRequestBytes: 16 * KIB * KIB };

const smallAnswers = { ...roomy, maxGrpcAnswerBytes: 100 * KIB };

/** For each limit: the server's limits, the refused call, and a function that sets constants before the start. */
const cases: Readonly<Record<string, readonly [Partial<Limits>, cause: () => unknown, prepare?: () => void]>> = {
  maxRequestBytes: [{ maxRequestBytes: 4 * KIB }, () => send(say("x".repeat(8 * KIB)))],
  maxRequestValues: [
    {},
    // The values of smaller requests are not counted.
    () => send(say("echo", { metadata: { list: Array.from({ length: 40 * KIB }, () => 1) } })),
    () => setConstants(requestValues, { max: 500 }),
  ],
  maxMessageBytes: [{ maxMessageBytes: 4 * KIB }, () => send(say("x".repeat(8 * KIB)))],
  maxParts: [{ maxParts: 1 }, () => send(say("", { parts: [{ text: "a" }, { text: "b" }] }))],
  maxTaskBytes: [{ maxTaskBytes: 4 * KIB, maxMessageBytes: 2 * KIB }, () => send(say("stream 100"))],
  maxArrivingBytes: [
    { maxRequestBytes: 64 * KIB, maxArrivingBytes: 160 * KIB },
    () => Promise.all([2, 3, 4, 5, 6].map((host) => arrive(`127.0.0.${host}`, 49 * KIB))),
  ],
  maxArrivingPerAddress: [
    {},
    () => Promise.all([1, 2].map(() => arrive("127.0.0.1", 1))),
    () => setConstants(arriving, { maxPerAddress: 1 }),
  ],
  maxArtifactBytes: [{}, () => send(say("stream 100")), () => setConstants(artifactSize, { maxBytes: 100 })],
  maxDelegationDepth: [{}, () => send(say("delegate")), () => setConstants(remoteBounds, { maxDepth: 0 })],
  maxRemoteCalls: [{}, () => send(say("delegate")), () => setConstants(remoteBounds, { maxCalls: 0 })],
  maxPushConfigsPerTask: [{ maxPushConfigsPerTask: 1 }, configure],
  maxPushConfigsPerOwner: [{ maxPushConfigsPerOwner: 1 }, configure],
  maxOutgoingBytes: [{ ...roomy, maxOutgoingBytes: 10 * KIB * KIB }, () => readSlowly(["alice", "bob"])],
  maxOutgoingBytesPerCaller: [
    { ...roomy, maxOutgoingBytesPerCaller: 10 * KIB * KIB },
    () => readSlowly(["alice", "alice", "alice"]),
  ],
  maxGrpcAnswerBytes: [smallAnswers, () => readLarge(server.grpcPort, "application/grpc")],
  maxStreams: [{ maxStreams: 1 }, () => times(2, follow)],
  maxCalls: [{ maxCalls: 1 }, () => times(2, hold)],
  maxCallsPerCaller: [{ maxCallsPerCaller: 1 }, () => times(2, hold)],
  maxStreamsPerCaller: [{ maxStreamsPerCaller: 1 }, () => times(2, follow)],
  maxSubscriptionsPerTaskPerCaller: [{ maxSubscriptionsPerTaskPerCaller: 1 }, subscribe],
  maxSubscriptionsPerTask: [{}, subscribe, () => setConstants(taskSubscriptions, { max: 1 })],
  maxRequestsPerSecondPerAddress: [{ maxRequestsPerSecondPerAddress: 1 }, () => times(50, list), shortBurst],
  maxRequestsPerSecondPerCaller: [{ maxRequestsPerSecondPerCaller: 1 }, () => times(50, list), shortBurst],
  maxConnections: [{ maxConnections: 1 }, () => times(2, hold)],
  maxConnectionsPerAddress: [{ maxConnectionsPerAddress: 1 }, () => times(2, hold)],
  maxQueuedExecutions: [{ maxExecutions: 1, maxQueuedExecutions: 1 }, () => times(3, hold)],
  maxQueuedExecutionsPerOwner: [{ maxExecutionsPerOwner: 1, maxQueuedExecutionsPerOwner: 1 }, () => times(3, hold)],
  maxOpenTasksPerOwner: [{ maxOpenTasksPerOwner: 1 }, () => times(2, hold)],
  maxFailedAttempts: [{ maxFailedAttempts: 1 }, () => times(3, () => list("nobody"))],
  maxOpenRequestBytes: [
    {},
    () => times(2, () => send(say(`wait ${newGate()}`, large))),
    () => setConstants(openRequests, { maxBytes: 80 * KIB }),
  ],
  maxQueuedBytes: [{ maxExecutions: 1 }, () => times(10, hold), () => setConstants(queuedMessages, { maxBytes: 500 })],
  maxUnverifiedPerAddress: [
    {},
    () => times(40, () => list("slow")),
    () => setConstants(unverified, { maxPerAddress: 1 }),
  ],
  maxWaitingTurns: [
    {},
    async () => {
      const gate = newGate();
      const taskId = await made(leave(`wait ${gate}`));
      await gates.reached(gate);
      times(2, () => send(leave("echo", { taskId })));
    },
    () => setConstants(waitingTurns, { max: 1 }),
  ],
  maxAdminCalls: [{}, () => operate("/v1/server"), () => setConstants(adminBounds, { calls: 0 })],
  maxAdminStreams: [{}, () => operate("/v1/tasks:follow"), () => setConstants(adminBounds, { streams: 0 })],
};

async function refusals(): Promise<string[]> {
  const found = [...(await seriesOf(server))].filter(
    ([name, count]) => name.startsWith("parley_limit_refusals_total{") && count > 0,
  );
  return found.map(([name, count]) => `${name} ${count}`);
}

describe("a refusal is counted under the name of its limit", () => {
  it.each(refusingLimits)("%s", async (limit) => {
    const [limits, cause, prepare] = cases[limit] ?? expect.fail("no case reaches it");
    prepare?.();
    await start(limits);
    void Promise.resolve(cause()).catch(() => {});
    const named = async (): Promise<string[]> => (await refusals()).map((series) => series.replace(/ \d+$/, ""));
    await expect.poll(named, { timeout: 30_000 }).toEqual([`parley_limit_refusals_total{limit="${limit}"}`]);
  });

  it.each([
    ["GetTask", "application/grpc", () => server.grpcPort],
    ["SendStreamingMessage", "application/grpc", () => server.grpcPort],
    ["GetTask", "application/grpc", () => server.port],
    ["GetTask", "application/grpc-web+proto", () => server.port],
    ["SendStreamingMessage", "application/grpc-web+proto", () => server.port],
  ])("once for an answer of %s that is too large in %s (%#)", async (rpc, type, port) => {
    await start(smallAnswers);
    expect(await readLarge(port(), type, rpc)).toBe("8");
    expect(await refusals()).toEqual(['parley_limit_refusals_total{limit="maxGrpcAnswerBytes"} 1']);
  });
});
