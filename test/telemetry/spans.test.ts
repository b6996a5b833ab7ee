import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { AgentError, TurnPaused } from "../../src/agent/errors.js";
import { type AgentEvent, artifact, completed, failed, inputRequired, rejected, reply } from "../../src/agent/event.js";
import { A2AError, type Reason, reasons } from "../../src/core/error.js";
import { mapStream } from "../../src/core/map-stream.js";
import type { Agent, Server, ServerOptions, Turn } from "../../src/index.js";
import { pushRetry } from "../../src/push/outcome.js";
import { isStream, type ServiceInterceptor } from "../../src/service/invoke.js";
import { titleOf } from "../auth/world.js";
import { obedient } from "../conformance/agents.js";
import { agentOf, Servers } from "../delegation/servers.js";
import { say } from "../limits/world.js";
import { type Answer, accept, receive, refuse } from "../push/receiver.js";
import { setConstants } from "../support/constants.js";
import type { BindingName, Driver, Reply } from "../support/driver.js";
import { bindings, grpcHttp } from "../support/drivers.js";
import { type RecordedSpan, registerRecorder, unregisterRecorder } from "./recorder.js";

/** Kinds and status of spans in OpenTelemetry's API. */
const [INTERNAL, SERVER, CLIENT] = [0, 1, 2];
const failedStatus = { code: 2 };

const aText: unknown = expect.stringMatching(/./);
const aPort: unknown = expect.any(Number);

/** Per binding: the system, and the code of success. */
const systems: Readonly<Record<BindingName, readonly [system: string, success?: string]>> = {
  grpc: ["grpc", "OK"],
  "grpc-http": ["grpc", "OK"],
  "grpc-web": ["grpc", "OK"],
  connect: ["connectrpc"],
  jsonrpc: ["jsonrpc"],
  rest: ["http_json"],
};

/** Errors of the server. The caller's own leave the status of a server's span unset. */
const faults: readonly Reason[] = [
  "INVALID_AGENT_RESPONSE",
  "METHOD_NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "TASK_DAMAGED",
  "DEADLINE_EXCEEDED",
  "UNAVAILABLE",
  "INTERNAL",
];

/** Lets a call fail as its header says; `x-break` fails a stream after its first event. */
const failing: ServiceInterceptor = (next) => async (invocation) => {
  const reason = invocation.call.header("x-fail");
  if (reason === "throw") throw new RangeError("unexpected");
  if (reason !== undefined) throw new A2AError(reason as Reason, "as asked");
  const answer = await next(invocation);
  if (!isStream(answer) || invocation.call.header("x-break") === undefined) return answer;
  const item = (): never => {
    throw new A2AError("UNAVAILABLE", "as asked");
  };
  return mapStream(answer, { item });
};

/** The code that a client has found on the wire, as attributes of spans write it. */
function codeOn({ name }: Driver, { error }: Reply): string | undefined {
  if (name === "rest" || name === "jsonrpc") return String(error?.native);
  return name === "connect" ? error?.status?.toLowerCase() : error?.status;
}

describe.each([...bindings, grpcHttp].map((binding) => [titleOf(binding), binding] as const))(
  "the server's span of a call over %s",
  (_, binding) => {
    const servers = new Servers();
    let spans: RecordedSpan[];
    let server: Server;
    let driver: Driver;
    beforeAll(async () => {
      spans = registerRecorder();
      server = await servers.serve(obedient("traced"), { interceptors: [failing], trustProxy: "loopback" });
      driver = binding.connect({ url: server.url, grpcPort: server.grpcPort ?? 0 });
    });
    afterAll(async () => {
      driver.close();
      await servers.close();
      unregisterRecorder();
    });

    const [system, success] = systems[binding.name];

    /** The span of the next call, when it has ended. */
    const spanOf = async (call: () => Promise<unknown>): Promise<RecordedSpan> => {
      const before = spans.length;
      await call();
      const span = spans[before];
      await expect.poll(() => span?.ends).toBe(1);
      if (span === undefined) throw new Error("The call has no span.");
      expect(span.kind).toBe(SERVER);
      return span;
    };

    /** Attributes of every call. */
    const common = (method: string): object => ({
      "a2a.method.name": method,
      "a2a.protocol.version": "1.0",
      "rpc.method": `lf.a2a.v1.A2AService/${method}`,
      "rpc.system.name": system,
      "client.address": "127.0.0.1",
      "client.port": aPort,
      "server.address": "127.0.0.1",
      "server.port": binding.name === "grpc" ? server.grpcPort : server.port,
      "gen_ai.agent.name": "traced",
      "gen_ai.agent.version": aText,
      "gen_ai.agent.description": aText,
      ...(binding.name === "jsonrpc" && { "jsonrpc.protocol.version": "2.0", "jsonrpc.request.id": aText }),
    });

    it.each(["SendMessage", "SendStreamingMessage"])(
      "has the attributes of the call, and no others: %s",
      async (method) => {
        const referenceTaskIds = ["one", "two"];
        const request = { ...say("echo", { messageId: `m ${method}`, referenceTaskIds }), tenant: "acme" };
        const isUnary = method === "SendMessage";
        const { name, status, attributes } = await spanOf(() =>
          isUnary ? driver.call(method, request) : driver.stream(method, request).rest(),
        );
        expect({ name, status }).toEqual({ name: method, status: undefined });
        expect(attributes).toEqual({
          ...common(method),
          "a2a.tenant": "acme",
          "a2a.message.id": `m ${method}`,
          "a2a.message.reference_task_ids": referenceTaskIds,
          "a2a.task.id": aText,
          "a2a.task.state": "TASK_STATE_COMPLETED",
          "gen_ai.conversation.id": aText,
          ...(success !== undefined && { "rpc.response.status_code": success }),
        });
      },
    );

    it("has the address of a client behind a trusted proxy, and no port", async () => {
      const headers = { "x-forwarded-for": "192.0.2.9" };
      const { attributes } = await spanOf(() => driver.call("ListTasks", {}, { headers }));
      expect(attributes).toMatchObject({ "client.address": "192.0.2.9" });
      expect(attributes).not.toHaveProperty(["client.port"]);
    });

    it("has the code of each error, and is failed by those of the server", async () => {
      const found: unknown[] = [];
      const expected: unknown[] = [];
      for (const reason of Object.keys(reasons) as Reason[]) {
        let answer: Reply = { headers: {} };
        const { status, attributes } = await spanOf(async () => {
          answer = await driver.call("GetTask", { id: "some" }, { headers: { "x-fail": reason } });
        });
        found.push({ reason, status, attributes });
        const code = codeOn(driver, answer);
        const isFault = faults.includes(reason);
        const failure = { ...common("GetTask"), "parley.error.reason": reason, "rpc.response.status_code": code };
        expected.push({
          reason,
          status: isFault ? failedStatus : undefined,
          attributes: { ...failure, "a2a.task.id": "some", ...(isFault && { "error.type": code }) },
        });
      }
      expect(found).toEqual(expected);
    });

    it.each([
      ["an unexpected error", "GetTask", { "x-fail": "throw" }, "INTERNAL"],
      ["the end of a stream by an error", "SendStreamingMessage", { "x-break": "1" }, "UNAVAILABLE"],
    ] as const)("is failed by %s", async (_, method, headers, reason) => {
      const { attributes, status } = await spanOf(() =>
        method === "GetTask"
          ? driver.call(method, { id: "some" }, { headers })
          : driver.stream(method, say("echo"), { headers }).rest(),
      );
      expect(status).toEqual(failedStatus);
      expect(attributes).toMatchObject({ "parley.error.reason": reason, "error.type": aText });
      expect(attributes["error.type"]).toBe(attributes["rpc.response.status_code"]);
    });
  },
);

function throws(): never {
  throw new RangeError("secret");
}

function refuses(): never {
  throw new A2AError("INVALID_PARAMS", "not so");
}

/** Changes the conversation's state, which a direct reply cannot store. */
async function changes(turn: Turn): Promise<AgentEvent> {
  await turn.conversation.state.set({ last: "reply" });
  return reply("done");
}

describe("the spans of a task", () => {
  /** All spans of a message, when `isDone` and each has ended. */
  async function spansOf(
    agent: Agent,
    options: Partial<ServerOptions> = {},
    { request = say("go"), isDone = () => true }: { request?: object; isDone?(spans: RecordedSpan[]): boolean } = {},
  ): Promise<RecordedSpan[]> {
    const servers = new Servers();
    const spans = registerRecorder();
    onTestFinished(async () => {
      await servers.close();
      unregisterRecorder();
    });
    const { url } = await servers.serve(agent, options);
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    await fetch(`${url}/message:send`, { method: "POST", headers, body: JSON.stringify(request) });
    await expect.poll(() => isDone(spans) && spans.every(({ ends }) => ends === 1)).toBe(true);
    return spans;
  }

  const named = (spans: RecordedSpan[], name: string): RecordedSpan => {
    const found = spans.filter((span) => span.name === name);
    expect(found).toHaveLength(1);
    return found[0]!;
  };

  /** Status and type of a span's failure; both undefined if it has not failed. */
  const failureOf = ({ status, attributes }: RecordedSpan): unknown[] => [status, attributes["error.type"]];
  const failure = (type: string | undefined): unknown[] => [type === undefined ? undefined : failedStatus, type];

  it("has the attributes of a turn, and no others", async () => {
    const agent = agentOf("Named", async function* () {
      yield completed("done");
    });
    const request = { ...say("go", { messageId: "m", contextId: "c", referenceTaskIds: ["one"] }), tenant: "acme" };
    const { kind, attributes } = named(await spansOf(agent, {}, { request }), "turn Named");
    expect(kind).toBe(INTERNAL);
    expect(attributes).toEqual({
      "a2a.tenant": "acme",
      "a2a.message.id": "m",
      "a2a.message.reference_task_ids": ["one"],
      "a2a.task.id": aText,
      "a2a.task.state": "TASK_STATE_COMPLETED",
      "gen_ai.conversation.id": "c",
      "gen_ai.agent.name": "Named",
      "gen_ai.agent.version": "1.0.0",
      "gen_ai.agent.description": "An agent under test.",
      "parley.turn.position": 1,
      "parley.turn.attempt": 1,
    });
  });

  it.each([
    ["is completed", "task", () => completed("done"), undefined],
    ["asks", "task", () => inputRequired("Which?"), undefined],
    ["rejects", "task", () => rejected("no"), undefined],
    ["fails its task", "task", () => failed("no"), "TASK_STATE_FAILED"],
    ["throws", "task", throws, "TASK_STATE_FAILED"],
    ["throws before it decides", "either", throws, "RangeError"],
    ["refuses the message before it decides", "either", refuses, undefined],
    ["replies", "message", () => reply("done"), undefined],
    ["throws instead of a reply", "message", throws, "RangeError"],
    ["refuses instead of a reply", "message", refuses, undefined],
    ["replies nothing", "message", () => reply({ parts: [] }), "INVALID_AGENT_RESPONSE"],
    ["yields something else than a reply", "message", () => completed("done"), "INVALID_AGENT_RESPONSE"],
    ["replies after a change of the state", "either", changes, "INTERNAL"],
  ] as const)("has the failure of a turn whose agent %s", async (_, responds, event, type) => {
    const execute = async function* (turn: Turn): AsyncGenerator<AgentEvent> {
      yield await event(turn);
    };
    const spans = await spansOf(agentOf("Ending", execute, { responds }));
    expect(failureOf(named(spans, "turn Ending"))).toEqual(failure(type));
  });

  class Unlucky extends AgentError {}

  it.each<[title: string, work: () => unknown, type?: string]>([
    ["returns", () => "done"],
    ["throws", throws, "RangeError"],
    ["throws an error for the client", () => Promise.reject(new Unlucky("no")), "Unlucky"],
    ["waits for its user", () => Promise.reject(new TurnPaused())],
  ])("has the name of a step that %s, and its failure", async (_, work, type) => {
    const agent = agentOf("Stepping", async function* (turn) {
      await turn.step("plan", work);
      yield completed("done");
    });
    const span = named(await spansOf(agent), "step plan");
    expect(span.kind).toBe(INTERNAL);
    expect(span.attributes).toEqual({ "parley.step.name": "plan", ...(type !== undefined && { "error.type": type }) });
    expect(failureOf(span)).toEqual(failure(type));
  });

  const delegating = (agent: string): Agent =>
    agentOf("Host", async function* (turn: Turn) {
      yield* turn.delegate(agent, undefined, { name: "first" });
      yield completed("done");
    });

  it.each([
    ["works", "delegate sub", undefined],
    ["refuses", "delegate sub", "DelegationError"],
    ["has no name", "delegate", undefined],
  ])("has the name of a delegation to an agent that %s, and its failure", async (title, name, type) => {
    const servers = new Servers();
    onTestFinished(() => servers.close());
    const sub = agentOf("Sub", async function* () {
      yield artifact({ text: "part" });
      yield completed("done");
    });
    const refusing: ServiceInterceptor = () => refuses;
    const interceptors = title === "refuses" ? [refusing] : [];
    const { url } = await servers.serve(sub, { telemetry: false, interceptors });
    const asked = name === "delegate" ? url : "sub";
    const span = named(await spansOf(delegating(asked), { remoteAgents: { sub: url } }), name);
    expect(span.kind).toBe(INTERNAL);
    expect(span.attributes).toEqual({
      "parley.delegation.name": "first",
      ...(name === "delegate sub" && { "gen_ai.agent.name": "sub" }),
      ...(type !== undefined && { "error.type": type }),
    });
    expect(failureOf(span)).toEqual(failure(type));
  });

  const drops: Answer = (_hit, response) => response.destroy();
  const breaksOff: Answer = (_hit, response) => {
    response.writeHead(200, { "content-length": "10" }).write("half");
    setTimeout(() => response.destroy(), 20);
  };

  it.each([
    ["accepts", accept, 204, undefined],
    ["refuses", refuse(503), 503, "503"],
    ["answers nothing", drops, undefined, "request_failed"],
    ["breaks off its answer", breaksOff, 200, "request_failed"],
  ] as const)("has the status and the failure of a notification whose webhook %s", async (_, answer, status, type) => {
    setConstants(pushRetry, { firstMs: 20 });
    let failures = 1;
    // The second notification is answered so at first.
    const receiver = await receive((hit, response, request) =>
      (hit.generation === 2 && failures-- > 0 ? answer : accept)(hit, response, request),
    );
    const agent = agentOf("Pushing", async function* () {
      yield completed("done");
    });
    const push: ServerOptions["push"] = { allowHttp: true, ports: [receiver.port], allow: ["127.0.0.1"] };
    const configuration = { taskPushNotificationConfig: { url: receiver.url("/hook?token=secret") } };
    const attempts = type === undefined ? 2 : 3;
    const pushes = (all: RecordedSpan[]): RecordedSpan[] => all.filter(({ name }) => name === "push");
    const isDone = (all: RecordedSpan[]): boolean => pushes(all).length === attempts;
    const spans = pushes(await spansOf(agent, { push }, { request: { ...say("go"), configuration }, isDone }));
    const of = (generation: number, failedAttempts: number, answered: number | undefined) => ({
      "a2a.task.id": aText,
      "http.request.method": "POST",
      "server.address": "127.0.0.1",
      "server.port": receiver.port,
      "parley.push.generation": generation,
      "parley.push.failed_attempts": failedAttempts,
      ...(answered !== undefined && { "http.response.status_code": answered }),
    });
    const first = { ...of(2, 0, status), ...(type !== undefined && { "error.type": type }) };
    const again = type === undefined ? [] : [of(2, 1, 204)];
    expect(spans.map(({ attributes }) => attributes)).toEqual([of(1, 0, 204), first, ...again]);
    expect(spans.map(({ kind }) => kind)).toEqual(spans.map(() => CLIENT));
    expect(spans.map((span) => span.status)).toEqual([
      undefined,
      type === undefined ? undefined : failedStatus,
      ...again.map(() => undefined),
    ]);
  });
});
