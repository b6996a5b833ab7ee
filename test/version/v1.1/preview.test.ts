import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { create, type DescMethod, fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { Server as GrpcServer, ServerCredentials } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../../src/agent/agent.js";
import { artifact, completed, inputRequired, working } from "../../../src/agent/event.js";
import { composeNode } from "../../../src/server/compose-node.js";
import { createServer, type Server } from "../../../src/server/create-server.js";
import type { ServerOptions } from "../../../src/server/options.js";
import { resolveOptions } from "../../../src/server/resolve-options.js";
import { poll } from "../../../src/service/resume.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { service } from "../../../src/version/v1.1/contract.js";
import { setConstants } from "../../support/constants.js";

/** Functions that resume a waiting turn, by the text of its message. */
const gates = new Map<string, () => void>();

const agent: Agent = {
  card: { name: "Probe", description: "Answers.", version: "1.0.0" },
  async *execute(turn) {
    const isFirst = (turn.task?.history.length ?? 0) < 2;
    if (turn.text === "ask" && isFirst) return yield inputRequired("What?");
    if (turn.text.startsWith("wait")) {
      yield working();
      await new Promise<void>((resolve) => {
        gates.set(turn.text, resolve);
        turn.signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
    yield artifact({ id: "a", text: turn.text });
    yield completed();
  },
};

const optionsWith = (more: Partial<ServerOptions> = {}): ServerOptions => ({
  agent,
  store: memoryStore(),
  host: "127.0.0.1",
  port: 0,
  grpcPort: 0,
  limits: { shutdownGraceMs: 50 },
  preview: "1.1",
  ...more,
});

type Ask = (method: string, request: JsonObject) => Promise<JsonObject>;

interface Failure {
  readonly code: string | number;
  readonly message: string;
  /** The ErrorInfo. */
  readonly info?: JsonObject | undefined;
}

class Refused extends Error {
  readonly code: string | number;
  readonly info: JsonObject | undefined;
  constructor({ code, message, info }: Failure) {
    super(message);
    this.code = code;
    this.info = info;
  }
}

/** A caller of 1.1: unary calls and streams, in JSON. */
interface Caller {
  readonly ask: Ask;
  readonly stream: (method: string, request: JsonObject) => Promise<JsonObject[]>;
}

const versioned = { "content-type": "application/json", "a2a-version": "1.1" };

const framesOf = (text: string): JsonObject[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));

function overJsonRpc({ port }: Server): Caller {
  const send = (method: string, params: JsonObject) =>
    fetch(`http://127.0.0.1:${port}/`, {
      method: "POST",
      headers: versioned,
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
  const resultOf = ({
    result,
    error,
  }: {
    result?: JsonObject;
    error?: Failure & { data?: JsonObject[] };
  }): JsonObject => {
    if (error !== undefined) throw new Refused({ ...error, info: error.data?.[0] });
    return result as JsonObject;
  };
  return {
    ask: async (method, request) => resultOf((await (await send(method, request)).json()) as JsonObject),
    stream: async (method, request) => framesOf(await (await send(method, request)).text()).map(resultOf),
  };
}

function overRest({ port }: Server): Caller {
  const send = (method: string, { id, ...rest }: JsonObject) => {
    const base = `http://127.0.0.1:${port}`;
    const post = (path: string) =>
      fetch(base + path, { method: "POST", headers: versioned, body: JSON.stringify(rest) });
    const get = (path: string) =>
      fetch(`${base}${path}?${new URLSearchParams(rest as Record<string, string>)}`, { headers: versioned });
    if (method === "GetTask") return get(`/tasks/${id}`);
    if (method === "ListTasks") return get("/tasks");
    if (method === "CancelTask") return post(`/tasks/${id}:cancel`);
    return post(method === "SendMessage" ? "/message:send" : "/message:stream");
  };
  return {
    ask: async (method, request) => {
      const response = await send(method, request);
      const json = (await response.json()) as JsonObject & { error?: { message: string; details: JsonObject[] } };
      if (!response.ok) {
        const { message = "", details = [] } = json.error ?? {};
        throw new Refused({ code: response.status, message, info: details[0] });
      }
      return json;
    },
    stream: async (method, request) => framesOf(await (await send(method, request)).text()),
  };
}

function overTransport(transport: Transport): Caller {
  const client = createClient(service, transport) as Record<string, (request: object, options: object) => unknown>;
  const options = { headers: { "a2a-version": "1.1" } };
  const methodOf = (name: string) => service.methods.find((each) => each.name === name) as DescMethod;
  const begin = (name: string, request: JsonObject) => {
    const { localName, input } = methodOf(name);
    return client[localName]?.(fromJson(input, request), options);
  };
  return {
    ask: async (name, request) => {
      try {
        return toJson(methodOf(name).output, (await begin(name, request)) as never) as JsonObject;
      } catch (error) {
        const failed = ConnectError.from(error);
        const [info] = failed.findDetails(ErrorInfoSchema);
        const { code, rawMessage: message } = failed;
        throw new Refused({
          code: Code[code] ?? "",
          message,
          info: info && (toJson(ErrorInfoSchema, info) as JsonObject),
        });
      }
    },
    stream: async (name, request) => {
      const events: JsonValue[] = [];
      for await (const event of begin(name, request) as AsyncIterable<never>)
        events.push(toJson(methodOf(name).output, event));
      return events as JsonObject[];
    },
  };
}

const urlOf = (port: number | undefined) => `http://127.0.0.1:${port}`;

interface Binding {
  readonly name: string;
  readonly connect: (server: Server) => Caller;
  /** Code of a message that comes at another generation than it expects, and of a wrong value. */
  readonly mismatch: string | number;
  readonly invalid: string | number;
}

const statuses = { mismatch: "Aborted", invalid: "InvalidArgument" };

const bindings: readonly Binding[] = [
  { name: "JSON-RPC", connect: overJsonRpc, mismatch: -32010, invalid: -32602 },
  { name: "HTTP+JSON", connect: overRest, mismatch: 409, invalid: 400 },
  {
    name: "gRPC",
    connect: ({ grpcPort }) => overTransport(createGrpcTransport({ baseUrl: urlOf(grpcPort) })),
    ...statuses,
  },
  {
    name: "gRPC on the HTTP port",
    connect: ({ port }) => overTransport(createGrpcTransport({ baseUrl: urlOf(port) })),
    ...statuses,
  },
  {
    name: "gRPC-Web",
    connect: ({ port }) => overTransport(createGrpcWebTransport({ baseUrl: urlOf(port), httpVersion: "1.1" })),
    ...statuses,
  },
  {
    name: "Connect, JSON",
    connect: ({ port }) =>
      overTransport(createConnectTransport({ baseUrl: urlOf(port), httpVersion: "1.1", useBinaryFormat: false })),
    ...statuses,
  },
  {
    name: "Connect, binary",
    connect: ({ port }) =>
      overTransport(createConnectTransport({ baseUrl: urlOf(port), httpVersion: "1.1", useBinaryFormat: true })),
    ...statuses,
  },
];

const message = (text: string, more: JsonObject = {}) => ({
  messageId: crypto.randomUUID(),
  role: "ROLE_USER",
  parts: [{ text }],
  ...more,
});

type Shown = JsonObject & { id: string; generation?: string };

it("adds its fields to the contract of 1.0, and nothing else", () => {
  const added = service.file.messages.flatMap((now) => {
    const before = A2AService.file.messages.find(({ name }) => name === now.name)?.fields.map(String) ?? [];
    return now.fields
      .filter((field) => !before.includes(String(field)))
      .map(({ name, number }) => `${now.name}.${name} ${number}`);
  });
  // The numbers are literal, because they are the wire format.
  expect(added.sort()).toEqual([
    "GetTaskRequest.current_generation 4",
    "SendMessageConfiguration.if_generation_match 5",
    "Task.generation 7",
    "TaskArtifactUpdateEvent.generation 7",
    "TaskStatusUpdateEvent.generation 5",
  ]);
  expect(service.methods.map(String)).toEqual(A2AService.methods.map(String));
});

describe.each(bindings)("the preview of 1.1 over $name", ({ connect, mismatch, invalid }) => {
  let server: Server;
  let ask: Ask;
  let stream: Caller["stream"];

  beforeAll(async () => {
    server = await createServer(optionsWith());
    ({ ask, stream } = connect(server));
  });
  afterAll(() => server.close());

  const sent = async (text: string, configuration: JsonObject = {}): Promise<Shown> =>
    (await ask("SendMessage", { message: message(text), configuration })).task as Shown;

  const refusal = async (answer: Promise<unknown>): Promise<Refused> => {
    const error = await answer.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(Refused);
    return error as Refused;
  };

  it("says the generation of every task", async () => {
    const { id, generation } = await sent("hi");
    expect(generation).toBe("3");
    expect(await ask("GetTask", { id })).toMatchObject({ id, generation: "3" });
    const { tasks } = (await ask("ListTasks", {})) as { tasks: Shown[] };
    expect(tasks.find((task) => task.id === id)).toMatchObject({ generation: "3" });
    const held = await sent("wait", { returnImmediately: true });
    const canceled = (await ask("CancelTask", { id: held.id })) as Shown;
    expect(Number(canceled.generation)).toBeGreaterThan(Number(held.generation));
  });

  it("says with every event which generation it brings its reader to", async () => {
    const events = await stream("SendStreamingMessage", { message: message("hi") });
    const inside = events.map((event) => Object.values(event)[0] as Shown);
    expect(inside.map(({ generation }) => generation)).toEqual(["1", "2", "3"]);
    expect(events.map((event) => Object.keys(event)[0])).toEqual(["task", "artifactUpdate", "statusUpdate"]);
  });

  it("waits with a read for what its caller does not know yet", async () => {
    const text = `wait ${crypto.randomUUID()}`;
    const { id } = await sent(text, { returnImmediately: true });
    await expect.poll(() => gates.has(text)).toBe(true);
    const { generation = "" } = (await ask("GetTask", { id })) as Shown;
    // A generation that is known to be old gets an answer at once.
    expect(await ask("GetTask", { id, currentGeneration: "0" })).toMatchObject({ generation });
    let isAnswered = false;
    const later = ask("GetTask", { id, currentGeneration: generation }).finally(() => {
      isAnswered = true;
    });
    // A whole other call fits in between.
    await sent("hi");
    expect(isAnswered).toBe(false);
    gates.get(text)?.();
    expect(Number(((await later) as Shown).generation)).toBeGreaterThan(Number(generation));
  });

  it("waits no longer than `poll.maxMs`, and not for a task that is over", async () => {
    const { id, generation = "" } = await sent("hi");
    setConstants(poll, { maxMs: 600_000 });
    expect(await ask("GetTask", { id, currentGeneration: generation })).toMatchObject({ id, generation });
    expect(await ask("GetTask", { id, currentGeneration: "9999999999" })).toMatchObject({ id, generation });
    setConstants(poll, { maxMs: 50 });
    const brief = await createServer(optionsWith());
    try {
      const other = connect(brief);
      const asked = { message: message("ask") };
      const { task } = (await other.ask("SendMessage", asked)) as { task: Shown };
      const known = { id: task.id, currentGeneration: task.generation ?? "" };
      expect(await other.ask("GetTask", known)).toMatchObject({ id: task.id, generation: task.generation });
    } finally {
      await brief.close();
    }
  });

  it("expects no generation of a task that is not there yet", async () => {
    expect(await sent("hi", { ifGenerationMatch: "1" })).toMatchObject({ generation: "3" });
  });

  it("takes one of several messages that come to the same generation", async () => {
    const { id: taskId, generation = "" } = await sent("ask");
    const sends = Array.from({ length: 4 }, () =>
      ask("SendMessage", { message: message("ask", { taskId }), configuration: { ifGenerationMatch: generation } }),
    );
    const settled = await Promise.allSettled(sends);
    const refused = settled.flatMap((each) => (each.status === "rejected" ? [each.reason as Refused] : []));
    expect(refused).toHaveLength(3);
    for (const { code } of refused) expect(code).not.toBe(invalid);
    expect(refused.some(({ code }) => code === mismatch)).toBe(true);
  });

  it("takes a message only at the generation that its caller has seen", async () => {
    const { id: taskId, generation } = await sent("ask");
    expect(generation).toBe("2");
    const again = (ifGenerationMatch: string) =>
      ask("SendMessage", { message: message("ask", { taskId }), configuration: { ifGenerationMatch } });
    const refused = await refusal(again("1"));
    expect(refused.code).toBe(mismatch);
    expect(refused.info).toMatchObject({
      reason: "TASK_GENERATION_MISMATCH",
      domain: "a2a-protocol.org",
      metadata: { taskId, expectedGeneration: "1", currentGeneration: "2" },
    });
    expect(await ask("GetTask", { id: taskId })).toMatchObject({ generation: "2" });
    expect(await again("2")).toMatchObject({ task: { id: taskId, generation: "5" } });
    expect((await refusal(again("2"))).code).not.toBe(invalid);
  });

  it("refuses numbers that no generation has, and names the field", async () => {
    const { id } = await sent("hi");
    for (const currentGeneration of ["-1", "99999999999"]) {
      const { code, message: said } = await refusal(ask("GetTask", { id, currentGeneration }));
      expect([code, said]).toEqual([invalid, expect.stringContaining("currentGeneration: must be a whole number")]);
    }
    const bad = ask("SendMessage", {
      message: message("hi", { taskId: id }),
      configuration: { ifGenerationMatch: "-1" },
    });
    expect((await refusal(bad)).message).toContain("configuration.ifGenerationMatch");
  });

  it("says it of large tasks, which are written in pieces", async () => {
    const { id } = await sent("x".repeat(400_000));
    const [one, other] = await Promise.all([ask("GetTask", { id }), ask("GetTask", { id })]);
    expect(one).toMatchObject({ generation: "3", artifacts: [{ parts: [{ text: "x".repeat(400_000) }] }] });
    expect(other).toEqual(one);
  });
});

describe("calls of 1.0 beside the preview", () => {
  const opened: { close(): Promise<unknown> }[] = [];
  afterAll(async () => {
    for (const each of opened) await each.close();
  });

  async function serve(more: Partial<ServerOptions> = {}): Promise<Server> {
    const server = await createServer(optionsWith(more));
    opened.push(server);
    return server;
  }

  it("are answered byte for byte as before", async () => {
    const server = await serve();
    const { ask } = overRest(server);
    const { task } = (await ask("SendMessage", { message: message("hi") })) as { task: Shown };
    const grpc = createGrpcTransport({ baseUrl: urlOf(server.grpcPort), useBinaryFormat: true });
    const read = async () => {
      const plain = { "content-type": "application/json" };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetTask", params: { id: task.id } });
      const rpc = await (await fetch(urlOf(server.port), { method: "POST", headers: plain, body })).text();
      const rest = await (await fetch(`${urlOf(server.port)}/tasks/${task.id}`)).text();
      const list = await (await fetch(`${urlOf(server.port)}/tasks`)).text();
      // A reader of 1.1 finds its fields empty.
      const client = createClient(service, grpc) as unknown as Record<"getTask", (request: object) => Promise<object>>;
      const binary = await client.getTask({ id: task.id });
      return [rpc, rest, list, JSON.stringify(binary, (_, value) => (typeof value === "bigint" ? `${value}` : value))];
    };
    const before = await read();
    for (const caller of [overRest(server), overJsonRpc(server), overTransport(grpc)]) {
      for (const method of ["GetTask", "ListTasks"])
        expect(JSON.stringify(await caller.ask(method, { ...(method === "GetTask" && { id: task.id }) }))).toContain(
          "generation",
        );
    }
    expect(await read()).toEqual(before);
    expect(before.slice(0, 3).join()).not.toContain("generation");
    expect(before[3]).toContain('"generation":"0"');
  });

  it("have parameters of the extension, which in 1.1 count where no field says something else", async () => {
    const { port } = await serve();
    const rpc = async (method: string, params: JsonObject, parameters: Record<string, string>): Promise<JsonObject> => {
      const headers = { ...versioned, "a2a-extensions": "urn:parley:ext:resume:v1", ...parameters };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      return (await (await fetch(urlOf(port), { method: "POST", headers, body })).json()) as JsonObject;
    };
    const { result } = await rpc("SendMessage", { message: message("ask") }, {});
    const { id: taskId, generation = "" } = (result as { task: Shown }).task;
    const again = (configuration: JsonObject) =>
      rpc("SendMessage", { message: message("ask", { taskId }), configuration }, { "parley-if-generation": "99" });
    expect(await again({})).toMatchObject({
      error: {
        code: -32010,
        data: [{ reason: "TASK_GENERATION_MISMATCH", metadata: { taskId, expectedGeneration: "99" } }],
      },
    });
    expect(await again({ ifGenerationMatch: generation })).toMatchObject({ result: { task: { id: taskId } } });
    const asked = { id: taskId, currentGeneration: "0" };
    // The parameter alone would wait for what never comes; the field is of long ago.
    const read = await rpc("GetTask", asked, { "parley-after-generation": "99", "parley-wait": "19" });
    expect(read).toMatchObject({ result: { id: taskId, generation: "5" } });
  });

  it("do not know the fields of a request", async () => {
    const { port } = await serve();
    const answer = await fetch(`${urlOf(port)}/tasks/x?currentGeneration=1`);
    // The older versions do not know the parameter. They ignore or refuse it, but do not wait.
    expect([400, 404]).toContain(answer.status);
  });

  it("are the only ones where the option does not ask for it; cards declare what is spoken", async () => {
    const versionsOf = async ({ port }: Server) => {
      const card = (await (await fetch(`${urlOf(port)}/.well-known/agent-card.json`)).json()) as {
        supportedInterfaces: JsonObject[];
      };
      return card.supportedInterfaces.map((each) => `${each.protocolBinding} ${each.protocolVersion}`);
    };
    const [on, off] = [await serve(), await serve({ preview: undefined as never })];
    expect(await versionsOf(on)).toEqual(
      expect.arrayContaining(["JSONRPC 1.0", "JSONRPC 1.1", "HTTP+JSON 1.1", "GRPC 1.1"]),
    );
    expect((await versionsOf(off)).filter((each) => each.endsWith("1.1"))).toEqual([]);
    await expect(overRest(off).ask("ListTasks", {})).rejects.toMatchObject({
      code: 400,
      message: expect.stringContaining("1.1"),
    });
    await expect(overJsonRpc(off).ask("ListTasks", {})).rejects.toMatchObject({ code: -32009 });
    const grpc = overTransport(createGrpcTransport({ baseUrl: urlOf(off.grpcPort) }));
    await expect(grpc.ask("ListTasks", {})).rejects.toMatchObject({ code: "FailedPrecondition" });
  });

  it("share a server of grpc-js with it", async () => {
    const a2a = composeNode(resolveOptions(optionsWith()));
    const { definition, implementation } = a2a.grpc();
    const host = new GrpcServer();
    host.addService(definition as never, implementation as never);
    const port = await new Promise<number>((resolve, reject) => {
      host.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    opened.push({ close: () => a2a.lifecycle.close(0).then(() => host.forceShutdown()) });
    const transport = createGrpcTransport({ baseUrl: urlOf(port) });
    const { ask, stream } = overTransport(transport);
    const { task } = (await ask("SendMessage", { message: message("hi") })) as { task: Shown };
    expect(task.generation).toBe("3");
    expect(await stream("SendStreamingMessage", { message: message("hi") })).toHaveLength(3);
    const request = create(A2AService.method.getTask.input, { id: task.id });
    expect(await createClient(A2AService, transport).getTask(request)).toMatchObject({ id: task.id });
  });

  it("are notified of like those of 1.1", async () => {
    const bodies: string[] = [];
    const receiver = createHttpServer((request, response) => {
      request.setEncoding("utf8").on("data", (text: string) => bodies.push(text));
      request.on("end", () => response.end());
    }).listen(0, "127.0.0.1");
    await once(receiver, "listening");
    const { port } = receiver.address() as AddressInfo;
    opened.push({ close: async () => receiver.close() });
    const server = await serve({ push: { allowHttp: true, allow: ["127.0.0.1"], ports: [port] } });
    const taskPushNotificationConfig = { url: `http://127.0.0.1:${port}/` };
    await overRest(server).ask("SendMessage", {
      message: message("hi"),
      configuration: { taskPushNotificationConfig },
    });
    await expect.poll(() => bodies.some((body) => "statusUpdate" in JSON.parse(body)), { timeout: 20_000 }).toBe(true);
    expect(bodies.join()).not.toContain("generation");
  });

  it("cannot be previewed in other words", () => {
    expect(() => resolveOptions(optionsWith({ preview: "2.0" as never }))).toThrow('preview is "2.0", not "1.1"');
  });
});
