import { create, type DescMessage } from "@bufbuild/protobuf";
import { Client, credentials, type ServiceDefinition } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "../../gen/grpc/health/v1/health_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { completed, working } from "../../src/agent/event.js";
import { grpcServiceDefinition } from "../../src/binding/grpc/embedded/definition.js";
import { createGrpcServer } from "../../src/binding/grpc/server.js";
import { defaultLimits } from "../../src/core/limits.js";
import { silentLogger } from "../../src/core/log.js";
import { composeNode, type NodeComponents } from "../../src/server/compose-node.js";
import type { A2AOptions } from "../../src/server/options.js";
import { resolveOptions } from "../../src/server/resolve-options.js";
import type { ServiceInterceptor } from "../../src/service/invoke.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { versionWarnings } from "../../src/version/mismatch-log.js";
import { v1 } from "../../src/version/v1.js";
import { Versions } from "../../src/version/versions.js";
import { setConstants } from "../support/constants.js";
import { Toy, toy } from "./toy.js";

const agent: Agent = {
  card: { name: "Probe", description: "Answers.", version: "1.0.0" },
  async *execute() {
    yield working();
    yield completed();
  },
};

const opened: NodeComponents[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.lifecycle.close(0);
});

/** A server of two versions; nothing of it knows the second but the registry. */
function serve(options: Partial<A2AOptions> = {}, versions: Versions = new Versions(v1, [toy])): NodeComponents {
  const settings = resolveOptions({ agent, store: memoryStore(), ...options }, false);
  const components = composeNode({ ...settings, versions });
  opened.push(components);
  return components;
}

interface Sent {
  readonly path?: string;
  readonly body?: unknown;
  readonly version?: string;
  readonly accept?: string;
}

async function send({ fetch }: NodeComponents, { path = "/", body, version, accept }: Sent) {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (version !== undefined) headers["a2a-version"] = version;
  if (accept !== undefined) headers.accept = accept;
  const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(new Request(`http://localhost${path}`, init));
  const text = await response.text();
  const type = response.headers.get("content-type") ?? "";
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
  return { status: response.status, type, events, json: type.includes("json") ? JSON.parse(text) : undefined, text };
}

const call = (method: string, params: object) => ({ jsonrpc: "2.0", id: 1, method, params });
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }] };

/** Id of a new task. */
async function task(served: NodeComponents): Promise<string> {
  const { json } = await send(served, { body: call("SendMessage", { message }) });
  return json.result.task.id;
}

describe("another version of the protocol, registered beside 1.0", () => {
  it("is loaded with the first call of it, whatever binding that comes over, and no earlier", async () => {
    for (const path of ["/", "/toy/talk", "/toy.v0.Toy/Talk"]) {
      const calls: string[] = [];
      const load = () => {
        calls.push(path);
        return toy.load();
      };
      const served = serve({}, new Versions(v1, [{ ...toy, load }]));
      await send(served, { body: call("SendMessage", { message }) });
      await send(served, { body: call("nobody/has", {}) });
      await send(served, { path: "/tasks" });
      expect(calls).toEqual([]);
      const body = path === "/" ? call("toy/talk", { text: "hi" }) : { text: "hi" };
      for (let i = 0; i < 2; i++) expect((await send(served, { path, body })).status).toBe(200);
      expect(calls).toEqual([path]);
    }
  });

  it("is tried again by the next call where it cannot be loaded, and the cause stays in the log", async () => {
    let attempts = 0;
    const load = () => (attempts++ === 0 ? Promise.reject(new Error("no such chunk")) : toy.load());
    const served = serve({}, new Versions(v1, [{ ...toy, load }]));
    const talk = () => send(served, { body: call("toy/talk", { text: "hi" }) });
    const failed = await talk();
    expect(failed.json.error).toMatchObject({ code: -32603, message: "Internal error." });
    expect((await talk()).json.result.toy).toMatchObject({ state: "completed" });
    attempts = 0;
    const rest = serve({}, new Versions(v1, [{ ...toy, load }]));
    expect((await send(rest, { path: "/toy/talk", body: { text: "hi" } })).status).toBe(500);
    expect((await send(rest, { path: "/toy/talk", body: { text: "hi" } })).status).toBe(200);
  });

  it("leaves no rejection behind where a call names a version that cannot be loaded", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    try {
      const served = serve({}, new Versions(v1, [{ ...toy, load: () => Promise.reject(new Error("no such chunk")) }]));
      const failed = await send(served, { body: call("toy/talk", { text: "hi" }), version: "0.9" });
      expect(failed.json.error).toMatchObject({ code: -32603, message: "Internal error." });
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("unhandledRejection", note);
    }
    expect(unhandled).toEqual([]);
  });

  it("is what interceptors see as the version of the call", async () => {
    const seen: string[] = [];
    const note: ServiceInterceptor = (next) => async (invocation) => {
      const answer = await next(invocation);
      seen.push(invocation.call.version);
      return answer;
    };
    const served = serve({ interceptors: [note] });
    await send(served, { body: call("toy/talk", { text: "hi" }) });
    await send(served, { body: call("SendMessage", { message }) });
    await send(served, { path: "/message:send", body: { message }, version: "1.0.3" });
    await send(served, { path: "/toy.v0.Toy/Talk", body: { text: "hi" } });
    expect(seen).toEqual(["0.9", "1.0", "1.0", "0.9"]);
  });

  it("leaves one line for each call whose version does not fit, and few where there are many", async () => {
    const lines: [object, string][] = [];
    const logger = { ...silentLogger, warn: (facts: object, text: string) => void lines.push([facts, text]) };
    setConstants(versionWarnings, { perMinute: 3 });
    const served = serve({ logger, audit: false });
    lines.length = 0;
    await send(served, { body: call("SendMessage", { message }), version: "7.1" });
    await send(served, { body: call("toy/talk", { text: "hi" }), version: "1.0" });
    await send(served, { path: "/toy.v0.Toy/Talk", version: "1.0", body: { text: "hi" } });
    const why = (text: string): string => `A call's version does not fit: ${text}`;
    const cause = { requestId: expect.any(String) };
    expect(lines).toEqual([
      [
        {
          binding: "jsonrpc",
          asked: "SendMessage",
          version: "7.1",
          peer: expect.any(String),
          agent: "Probe",
          ...cause,
        },
        why("A2A version 7.1 is not supported; supported: 1.0, 0.9."),
      ],
      [
        { binding: "jsonrpc", asked: "toy/talk", version: "1.0", peer: expect.any(String), ...cause },
        why(
          'Method not found: "toy/talk" is a method of A2A 0.9, and the call names version 1.0 (header A2A-Version).',
        ),
      ],
      [
        {
          binding: "connect",
          asked: "SendMessage",
          version: "1.0",
          peer: expect.any(String),
          agent: "Probe",
          ...cause,
        },
        why("The call names A2A version 1.0, but uses a method or path of 0.9."),
      ],
    ]);
    for (let i = 0; i < 9; i++) await send(served, { body: call("SendMessage", { message }), version: "7.1" });
    expect(lines).toHaveLength(3);
  });

  it("is served over JSON-RPC by its own method names, params, results and errors", async () => {
    const served = serve();
    const talked = await send(served, { body: call("toy/talk", { text: "hi" }) });
    expect(talked.json.result.toy).toMatchObject({ state: "completed" });
    const batch = await send(served, { body: [call("toy/talk", { text: "a" }), call("SendMessage", { message })] });
    expect(batch.json.map(({ result }: { result: object }) => Object.keys(result)[0]).sort()).toEqual(["task", "toy"]);
    const wrong = await send(served, { body: call("toy/talk", { text: 5 }) });
    expect(wrong.json).toEqual({ jsonrpc: "2.0", id: 1, error: { code: -32602, message: "INVALID_PARAMS" } });
    const listened = await send(served, { body: call("toy/listen", { text: "hi" }) });
    const results = listened.events.map(({ result }) => result.toy);
    expect(results.map(({ state }) => state)).toEqual(expect.arrayContaining(["completed"]));
    expect(results.at(-1)).toMatchObject({ final: true });
    // The cursor of an event is carried through the translation.
    expect(listened.text).toMatch(/^id: \S+$/m);
  });

  it("is served over HTTP+JSON by its own paths, bodies, media type and errors", async () => {
    const served = serve();
    const talked = await send(served, { path: "/toy/talk", body: { text: "hi" }, accept: "application/a2a+json" });
    expect([talked.status, talked.type]).toEqual([200, "application/json"]);
    expect(talked.json.toy).toMatchObject({ state: "completed" });
    const wrong = await send(served, { path: "/toy/talk", body: { text: 5 }, accept: "application/a2a+json" });
    expect([wrong.status, wrong.type, wrong.json]).toEqual([400, "application/json", { toy: "INVALID_PARAMS" }]);
  });

  it("is served by Connect through a descriptor alone", async () => {
    const talked = await send(serve(), { path: "/toy.v0.Toy/Talk", body: { text: "hi" } });
    expect(talked.json).toMatchObject({ state: "completed" });
  });

  it("is told from 1.0 by A2A-Version where both have a method, a path", async () => {
    const served = serve();
    const id = await task(served);
    const ask = (version?: string) => send(served, { body: call("GetTask", { id }), ...(version && { version }) });
    expect((await ask("0.9")).json.result).toMatchObject({ toy: { id } });
    expect((await ask("0.9.4")).json.result).toMatchObject({ toy: { id } });
    for (const version of [undefined, "1.0"]) expect((await ask(version)).json.result).toMatchObject({ id });
    const read = (version?: string) => send(served, { path: `/tasks/${id}`, ...(version && { version }) });
    expect((await read("0.9")).json).toMatchObject({ toy: { id } });
    for (const version of [undefined, "1.0"]) expect((await read(version)).json).toMatchObject({ id });
    const stream = (version: string, body: object) => send(served, { path: "/message:stream", version, body });
    expect((await stream("0.9", { text: "hi" })).events.at(-1)).toMatchObject({ toy: { final: true } });
    expect((await stream("1.0", { message })).events[0]).toHaveProperty("task");
  });

  it("has no methods and paths of the other, which has none of its own", async () => {
    const served = serve();
    const code = async (method: string, version: string) =>
      (await send(served, { body: call(method, {}), version })).json.error;
    expect(await code("SendMessage", "0.9")).toEqual({ code: -32601, message: "METHOD_NOT_FOUND" });
    expect(await code("toy/talk", "1.0")).toMatchObject({ code: -32601, data: expect.anything() });
    const lost = await send(served, { path: "/message:send", version: "0.9", body: { message } });
    expect([lost.status, lost.json]).toEqual([404, { toy: "METHOD_NOT_FOUND" }]);
    const foreign = await send(served, { path: "/toy/talk", version: "1.0", body: { text: "hi" } });
    expect([foreign.status, foreign.json.error.status]).toEqual([404, "NOT_FOUND"]);
  });

  it("is refused where a package says one version and A2A-Version another", async () => {
    const refused = await send(serve(), { path: "/toy.v0.Toy/Talk", version: "1.0", body: { text: "hi" } });
    expect(refused.json.message).toBe("The call names A2A version 1.0, but uses a method or path of 0.9.");
  });

  it("is one of those that errors and cards name", async () => {
    const served = serve();
    const { json } = await send(served, { body: call("SendMessage", { message }), version: "7.1" });
    expect(json.error.message).toBe("A2A version 7.1 is not supported; supported: 1.0, 0.9.");
    expect(json.error.data[0].metadata).toEqual({ requestedVersion: "7.1", supportedVersions: "1.0, 0.9" });
    const interfaces = served.card().supportedInterfaces.map((each) => [each.protocolBinding, each.protocolVersion]);
    const bindings = ["JSONRPC", "HTTP+JSON", "urn:parley:binding:connect:v1"];
    expect(interfaces).toEqual(["1.0", "0.9"].flatMap((version) => bindings.map((binding) => [binding, version])));
  });

  it("goes through all that calls of 1.0 go through", async () => {
    const seen: string[] = [];
    const served = serve({
      interceptors: [
        (next) => (invocation) => {
          seen.push(`${invocation.method.name} ${invocation.call.impliedVersion}`);
          return next(invocation);
        },
      ],
      strictVersion: true,
    });
    await send(served, { body: call("toy/talk", { text: "hi" }), version: "0.9" });
    expect(seen).toEqual(["SendMessage 0.9"]);
    const unnamed = await send(served, { body: call("toy/talk", { text: "hi" }) });
    expect(unnamed.json.error).toEqual({ code: -32009, message: "VERSION_NOT_SUPPORTED" });
  });

  it("is unknown where it is not registered", async () => {
    const served = serve({}, new Versions(v1));
    expect((await send(served, { body: call("toy/talk", { text: "hi" }) })).json.error.code).toBe(-32601);
    expect((await send(served, { body: call("GetTask", { id: "x" }), version: "0.9" })).json.error.code).toBe(-32009);
    expect((await send(served, { path: "/toy/talk", body: {} })).status).toBe(404);
  });
});

describe("another version's service on the gRPC port", () => {
  it("is served by the same binding, and known to the health service", async () => {
    const { grpcServices: services, inboundBudget } = serve();
    expect(services.map(({ service }) => service.typeName)).toEqual([v1.grpc.typeName, "toy.v0.Toy"]);
    const server = createGrpcServer({
      host: "127.0.0.1",
      port: 0,
      services,
      limits: defaultLimits,
      inboundBudget,
      logger: silentLogger,
    });
    const client = new Client(`127.0.0.1:${(await server.listen()).port}`, credentials.createInsecure());
    try {
      const ask = (definition: ServiceDefinition, name: string, request: object) =>
        new Promise<object>((resolve, reject) => {
          const { path, requestSerialize, responseDeserialize } = definition[name] as ServiceDefinition[string];
          const done = (error: Error | null, answer?: object): void => (error ? reject(error) : resolve(answer ?? {}));
          client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, done);
        });
      const definition = grpcServiceDefinition(Toy);
      const request = create(Toy.method.talk?.input as DescMessage, { text: "hi" } as never);
      expect(await ask(definition, "Talk", request)).toMatchObject({ state: "completed" });
      for (const service of ["toy.v0.Toy", "lf.a2a.v1.A2AService"]) {
        const check = create(HealthCheckRequestSchema, { service });
        expect(await ask(grpcServiceDefinition(Health), "Check", check)).toMatchObject({
          status: ServingStatus.SERVING,
        });
      }
    } finally {
      client.close();
      await server.drain(0);
    }
  });
});
