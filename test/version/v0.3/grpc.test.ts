import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { Server as GrpcServer, ServerCredentials } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { A2AService, type StreamResponse, TaskState } from "../../../gen/a2a/v1/a2a_pb.js";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import { ServerReflection, ServerReflectionRequestSchema } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { A2AService as NativeService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../../src/agent/agent.js";
import { artifact, completed, inputRequired, working } from "../../../src/agent/event.js";
import { httpBearerScheme } from "../../../src/auth/http-bearer.js";
import { composeNode } from "../../../src/server/compose-node.js";
import { openServer, type Server } from "../../../src/server/create-server.js";
import type { ServerOptions } from "../../../src/server/options.js";
import { resolveOptions } from "../../../src/server/resolve-options.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import { grpcService, v03 } from "../../../src/version/v0.3/index.js";
import { v1 } from "../../../src/version/v1.js";
import { Versions } from "../../../src/version/versions.js";
import { isSideEffectFree } from "../../../src/wire/field-rules.js";

const EXTENSION = "urn:test:ext";
const versions = new Versions(v1, [v03]);

const agent: Agent = {
  card: {
    name: "Probe",
    description: "Answers.",
    version: "1.0.0",
    capabilities: { extensions: [{ uri: EXTENSION }] },
  },
  async *execute(turn) {
    if (turn.text === "ask" && (turn.task?.history.length ?? 0) < 2) return yield inputRequired("What?");
    if (turn.text.startsWith("hold")) {
      yield working();
      await new Promise((resolve) => turn.signal.addEventListener("abort", resolve, { once: true }));
      return;
    }
    yield artifact({ id: "a", parts: [{ text: turn.text }, { data: [1, 2] }] });
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
  push: { allowHttp: true, allow: ["127.0.0.1"] },
  ...more,
});

const parts = (value: string) => [{ part: { case: "text" as const, value } }];
const message = (value: string, more: object = {}) => ({
  messageId: crypto.randomUUID(),
  role: 1,
  content: parts(value),
  ...more,
});

async function failureOf(call: Promise<unknown>): Promise<[code: string, message: string]> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => ConnectError.from(thrown),
  );
  return [Code[error?.code ?? 0] ?? "OK", error?.rawMessage ?? ""];
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const each of stream) found.push(each);
  return found;
}

const taskOf = ({ payload }: { payload: { case?: string | undefined; value?: unknown } }) => {
  expect(payload.case).toBe("task");
  return payload.value as { id: string; contextId: string; status?: { state: TaskState } };
};

/** Transports that reach the service of 0.3, one for each protocol that carries it. */
const ways: readonly (readonly [string, (server: Server) => Transport])[] = [
  ["gRPC", ({ grpcPort }) => createGrpcTransport({ baseUrl: `http://127.0.0.1:${grpcPort}` })],
  ["gRPC on the HTTP port", ({ port }) => createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` })],
  ["gRPC-Web", ({ port }) => createGrpcWebTransport({ baseUrl: `http://127.0.0.1:${port}`, httpVersion: "1.1" })],
  [
    "Connect, JSON",
    ({ port }) =>
      createConnectTransport({ baseUrl: `http://127.0.0.1:${port}`, httpVersion: "1.1", useBinaryFormat: false }),
  ],
  [
    "Connect, binary",
    ({ port }) =>
      createConnectTransport({ baseUrl: `http://127.0.0.1:${port}`, httpVersion: "1.1", useBinaryFormat: true }),
  ],
];

it("knows its methods before it is loaded as the contract has them", async () => {
  const methods = A2AService.methods.map((each) => ({
    name: each.name,
    isStream: each.methodKind === "server_streaming",
    isRead: isSideEffectFree(each),
  }));
  expect(grpcService).toMatchObject({ typeName: A2AService.typeName, methods });
  expect((await v03.load()).service?.service).toBe(A2AService);
});

it("is not loaded before its first call", () => {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    // Only static imports of values: neither types nor `import()`.
    const imports = readFileSync(file, "utf8").matchAll(
      /^(?:import|export)(?! type\b)[^;"']*?["'](\.[^"']+\.js)["']/gm,
    );
    for (const [, name = ""] of imports) visit(join(dirname(file), name.replace(/\.js$/, ".ts")));
  };
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  for (const entry of ["index", "fetch", "cli/main"]) visit(join(root, `src/${entry}.ts`));
  const ofIt = [...seen]
    .map((file) => relative(root, file))
    .filter((file) => /^gen\/a2a\/|grpc-service|v0\.3\/messages/.test(file));
  expect([seen.size > 100, ofIt]).toEqual([true, []]);
});

describe.each(ways)("A2A 0.3 over %s", (name, connect) => {
  let server: Server;
  let client: Client<typeof A2AService>;

  beforeAll(async () => {
    server = await openServer({ ...resolveOptions(optionsWith()), versions });
    client = createClient(A2AService, connect(server));
  });
  afterAll(() => server.close());

  const held = async () => {
    const { payload } = await client.sendMessage({ request: message("hold"), configuration: { blocking: false } });
    return `tasks/${(payload.value as { id: string }).id}`;
  };

  it("answers a message with its task, in messages of 0.3", async () => {
    const answer = await client.sendMessage({ request: message("hi") });
    expect(answer.$typeName).toBe("a2a.v1.SendMessageResponse");
    const { id, ...task } = taskOf(answer);
    expect(task).toMatchObject({
      status: { state: TaskState.COMPLETED },
      artifacts: [
        {
          artifactId: "a",
          parts: [
            { part: { case: "text", value: "hi" } },
            { part: { case: "data", value: { data: { value: [1, 2] } } }, metadata: { data_part_compat: true } },
          ],
        },
      ],
      history: [{ content: parts("hi") }],
    });
    expect(await client.getTask({ name: `tasks/${id}` })).toMatchObject({ id, status: { state: TaskState.COMPLETED } });
    expect((await client.getTask({ name: `tasks/${id}`, historyLength: 0 })).history).toHaveLength(1);
  });

  it("ends a stream with an event that says that it is the last", async () => {
    const events = await all(client.sendStreamingMessage({ request: message("hi") }));
    expect(events.map(({ payload }) => payload.case)).toEqual(["task", "artifactUpdate", "statusUpdate"]);
    expect(events.at(-1)?.payload.value).toMatchObject({ final: true, status: { state: TaskState.COMPLETED } });
  });

  it("tells a subscriber what becomes of a task that is canceled", async () => {
    const taskName = await held();
    const events: StreamResponse["payload"][] = [];
    for await (const { payload } of client.taskSubscription({ name: taskName })) {
      events.push(payload);
      if (events.length === 1) {
        expect(await client.cancelTask({ name: taskName })).toMatchObject({ status: { state: TaskState.CANCELLED } });
      }
    }
    expect(events[0]?.case).toBe("task");
    expect(events.at(-1)?.value).toMatchObject({ final: true, status: { state: TaskState.CANCELLED } });
  });

  it("keeps webhooks by their names", async () => {
    const parent = await held();
    const hook = (id: string) => ({
      parent,
      configId: id,
      config: { pushNotificationConfig: { url: "http://127.0.0.1:80/h" } },
    });
    const p1 = `${parent}/pushNotificationConfigs/p1`;
    expect(await client.createTaskPushNotificationConfig(hook("p1"))).toMatchObject({
      name: p1,
      pushNotificationConfig: { id: "p1", url: "http://127.0.0.1:80/h" },
    });
    await client.createTaskPushNotificationConfig(hook("p2"));
    expect(await client.getTaskPushNotificationConfig({ name: p1 })).toMatchObject({ name: p1 });
    const { configs, nextPageToken } = await client.listTaskPushNotificationConfig({ parent, pageSize: 1 });
    expect([configs.map((each) => each.name), nextPageToken]).toEqual([[p1], expect.stringMatching(/./)]);
    expect((await client.listTaskPushNotificationConfig({ parent })).configs).toHaveLength(2);
    await client.deleteTaskPushNotificationConfig({ name: p1 });
    expect((await client.listTaskPushNotificationConfig({ parent })).configs).toHaveLength(1);
  });

  it("refuses in the words of 0.3", async () => {
    expect(await failureOf(client.getTask({ name: "x" }))).toEqual([
      "InvalidArgument",
      "Invalid parameters: name: must be tasks/{id}",
    ]);
    expect((await failureOf(client.getTask({ name: "tasks/no" })))[0]).toBe("NotFound");
    const empty = client.sendMessage({ request: message("", { content: [{}] }) });
    expect(await failureOf(empty)).toEqual([
      "InvalidArgument",
      expect.stringContaining("message.content[0]: needs one of text, file, data"),
    ]);
    const { payload } = await client.sendMessage({ request: message("hi") });
    const { id } = payload.value as { id: string };
    expect((await failureOf(client.cancelTask({ name: `tasks/${id}` })))[0]).toBe("FailedPrecondition");
    expect((await failureOf(client.sendMessage({ request: message("more", { taskId: id }) })))[0]).toBe(
      "Unimplemented",
    );
  });

  it("refuses a call that says it is of another version", async () => {
    const asked = (version: string) =>
      failureOf(client.getTask({ name: "tasks/x" }, { headers: { "a2a-version": version } }));
    expect(await asked("1.0")).toEqual(["FailedPrecondition", expect.stringContaining("names A2A version 1.0")]);
    expect((await asked("99.0"))[0]).toBe("FailedPrecondition");
    for (const version of ["0.3", "0.3.0", ""]) expect((await asked(version))[0]).toBe("NotFound");
  });

  it("knows extensions by the parameter of 0.3, and by that of 1.0", async () => {
    for (const parameter of ["x-a2a-extensions", "a2a-extensions"]) {
      let headers: Headers | undefined;
      const options = {
        headers: { [parameter]: `${EXTENSION}, urn:other` },
        onHeader: (found: Headers) => {
          headers = found;
        },
      };
      await client.sendMessage({ request: message("hi") }, options);
      expect(headers?.get("x-a2a-extensions")).toBe(EXTENSION);
    }
  });

  it("holds to deadlines, and hears that its client leaves", async () => {
    const [code] = await failureOf(client.sendMessage({ request: message("hold") }, { timeoutMs: 200 }));
    expect(code).toBe("DeadlineExceeded");
    const leaving = new AbortController();
    const stream = client.sendStreamingMessage({ request: message("hold") }, { signal: leaving.signal });
    const iterator = stream[Symbol.asyncIterator]();
    const first = await iterator.next();
    leaving.abort();
    expect((await failureOf(iterator.next().then(() => iterator.next())))[0]).toBe("Canceled");
    // The task continues without its reader.
    const task = taskOf(first.value as StreamResponse);
    expect(await client.getTask({ name: `tasks/${task.id}` })).toMatchObject({ id: task.id });
  });

  it("is one of the services that 1.0 is served beside, with the same tasks", async () => {
    const native = createClient(NativeService, connect(server));
    const { payload } = await native.sendMessage({
      message: { messageId: "m", role: 1, parts: [{ content: { case: "text", value: "hi" } }] },
    });
    const { id } = payload.value as { id: string };
    expect(await client.getTask({ name: `tasks/${id}` })).toMatchObject({ id });
    if (name === "gRPC-Web") return;
    expect(await createClient(Health, connect(server)).check({ service: A2AService.typeName })).toMatchObject({
      status: 1,
    });
  });
});

describe("A2A 0.3 over gRPC", () => {
  const opened: { close(): Promise<unknown> }[] = [];
  afterAll(async () => {
    for (const each of opened) await each.close();
  });

  async function serve(more: Partial<ServerOptions>, spoken = versions) {
    const server = await openServer({ ...resolveOptions(optionsWith(more)), versions: spoken });
    opened.push(server);
    const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.grpcPort}` });
    return { server, transport, client: createClient(A2AService, transport) };
  }

  it("asks for credentials like every other call", async () => {
    const schemes = {
      bearer: httpBearerScheme({
        tokens: [
          { owner: "a", token: "secret-of-a" },
          { owner: "b", token: "secret-of-b" },
        ],
      }),
    };
    const { client } = await serve({ agent: { ...agent, security: { schemes } } });
    const as = (who: string) => ({ headers: { authorization: `Bearer secret-of-${who}` } });
    expect((await failureOf(client.sendMessage({ request: message("hi") })))[0]).toBe("Unauthenticated");
    // An unauthenticated caller learns nothing about faults in its request.
    expect((await failureOf(client.getTask({ name: "x" })))[0]).toBe("Unauthenticated");
    const { payload } = await client.sendMessage({ request: message("hi") }, as("a"));
    const name = `tasks/${(payload.value as { id: string }).id}`;
    expect(await client.getTask({ name }, as("a"))).toMatchObject({ status: { state: TaskState.COMPLETED } });
    expect((await failureOf(client.getTask({ name }, as("b"))))[0]).toBe("NotFound");
  });

  it("has the limits of every other call", async () => {
    const { client } = await serve({ limits: { maxRequestBytes: 2_000, maxParts: 2 } });
    expect((await failureOf(client.sendMessage({ request: message("x".repeat(3_000)) })))[0]).toBe("ResourceExhausted");
    const many = message("", { content: [...parts("a"), ...parts("b"), ...parts("c")] });
    expect(await failureOf(client.sendMessage({ request: many }))).toEqual([
      "InvalidArgument",
      expect.stringContaining("message.content"),
    ]);
  });

  it("answers a large task in pieces", async () => {
    const { client } = await serve({ limits: { maxGrpcAnswerBytes: 50_000_000 } });
    const { payload } = await client.sendMessage({ request: message("x".repeat(900_000)) });
    const { id } = payload.value as { id: string };
    const [first, second] = await Promise.all([1, 2].map(() => client.getTask({ name: `tasks/${id}` })));
    expect(first?.artifacts[0]?.parts[0]?.part.value).toHaveLength(900_000);
    expect(second).toEqual(first);
  });

  it("shows its extended card, with the ways to it that are for 0.3", async () => {
    const extendedCard = { ...agent.card, name: "Probe, extended" };
    const { client, server } = await serve({
      agent: { ...agent, extendedCard },
      authenticator: { authenticate: () => ({ owner: "a" }) },
    });
    const card = await client.getAgentCard({});
    expect(card).toMatchObject({
      name: "Probe, extended",
      protocolVersion: "0.3.0",
      supportsAuthenticatedExtendedCard: true,
    });
    expect([{ url: card.url, transport: card.preferredTransport }, ...card.additionalInterfaces]).toContainEqual(
      expect.objectContaining({ url: `127.0.0.1:${server.grpcPort}`, transport: "GRPC" }),
    );
  });

  it("is found by reflection, with its contract", async () => {
    const { transport } = await serve({});
    const ask = async (messageRequest: object) => {
      const questions = (async function* () {
        yield create(ServerReflectionRequestSchema, { messageRequest: messageRequest as never });
      })();
      const [answer] = await all(createClient(ServerReflection, transport).serverReflectionInfo(questions));
      return answer?.messageResponse;
    };
    const { value } = (await ask({ case: "listServices", value: "*" })) as { value: { service: { name: string }[] } };
    expect(value.service.map((each) => each.name)).toEqual(
      expect.arrayContaining(["a2a.v1.A2AService", "lf.a2a.v1.A2AService", "grpc.health.v1.Health"]),
    );
    for (const symbol of ["a2a.v1.A2AService", "a2a.v1.Task", "lf.a2a.v1.Task"]) {
      expect(await ask({ case: "fileContainingSymbol", value: symbol })).toMatchObject({
        case: "fileDescriptorResponse",
      });
    }
  });

  it("is not there where the version is switched off", async () => {
    const { client, transport } = await serve({}, versions.only(["1.0"]));
    expect((await failureOf(client.getTask({ name: "tasks/x" })))[0]).toBe("Unimplemented");
    expect((await failureOf(createClient(Health, transport).check({ service: A2AService.typeName })))[0]).toBe(
      "NotFound",
    );
  });

  it("is served in a server of grpc-js as well", async () => {
    const a2a = composeNode({ ...resolveOptions(optionsWith()), versions });
    const { definition, implementation } = a2a.grpc();
    const host = new GrpcServer();
    host.addService(definition as never, implementation as never);
    const port = await new Promise<number>((resolve, reject) => {
      host.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    opened.push({ close: () => a2a.lifecycle.close(0).then(() => host.forceShutdown()) });
    const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
    const client = createClient(A2AService, transport);
    const { id } = taskOf(await client.sendMessage({ request: message("hi") }));
    expect(await client.getTask({ name: `tasks/${id}` })).toMatchObject({ id });
    const events = await all(client.sendStreamingMessage({ request: message("hi") }));
    expect(events.at(-1)?.payload.value).toMatchObject({ final: true });
    expect((await failureOf(client.sendMessage({ request: message("more", { taskId: id }) })))[0]).toBe(
      "Unimplemented",
    );
    expect(await createClient(NativeService, transport).getTask({ id })).toMatchObject({ id });
  });

  it("is tried again by the next call where it cannot be loaded, over every way to it", async () => {
    for (const [, connect] of ways) {
      let attempts = 0;
      const load = async () => {
        attempts++;
        if (attempts < 3) throw new Error("no such chunk");
        return v03.load();
      };
      const server = await openServer({
        ...resolveOptions(optionsWith()),
        versions: new Versions(v1, [{ ...v03, load }]),
      });
      opened.push(server);
      const client = createClient(A2AService, connect(server));
      expect(await failureOf(client.getTask({ name: "tasks/x" }))).toEqual(["Internal", "Internal error."]);
      const stream = all(client.sendStreamingMessage({ request: message("hi") }));
      expect(await failureOf(stream)).toEqual(["Internal", "Internal error."]);
      expect((await failureOf(client.getTask({ name: "tasks/x" })))[0]).toBe("NotFound");
    }
  });
});
