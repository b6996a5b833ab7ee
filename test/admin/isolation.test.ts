import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import { logIn, own, useTestFiles } from "../console/world.js";
import { bindings, PATIENCE_MS } from "./callers.js";
import { bearer, openWorld, tokens, type World } from "./world.js";

/** The port of callers does not serve the operator's service, and the port of operators does not serve A2A. */

let world: World;
/** Addresses of the callers' ports and of the operators' port. */
let ports: Record<"http" | "grpc" | "admin", string>;
beforeAll(async () => {
  world = await openWorld();
  const { port, grpcAddress } = world.server;
  ports = { http: `127.0.0.1:${port}`, grpc: grpcAddress ?? "", admin: world.address };
});
afterAll(() => world.server.close());

/** Credentials of an operator that are also those of a caller, so that no call fails for lack of credentials. */
const all = { ...bearer(tokens.write), "x-key": tokens.caller };

const callerHeaders = (key: string): Record<string, string> => ({
  "x-key": key,
  "a2a-version": "1.0",
  "content-type": "application/a2a+json",
});

/** Begins a task of a caller that waits. @returns its id */
async function taskOf(key: string): Promise<string> {
  const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "wait isolation" }] };
  const body = JSON.stringify({ message, configuration: { returnImmediately: true } });
  const answer = await fetch(`http://${ports.http}/message:send`, {
    method: "POST",
    headers: callerHeaders(key),
    body,
  });
  const { task } = (await answer.json()) as { task: { id: string } };
  return task.id;
}

const overHttp = Object.entries(bindings).filter(([name]) => name !== "rest");

describe("AdminService on the ports of the A2A protocol", () => {
  it.each(overHttp)("does not exist over %s", async (name, open) => {
    for (const port of name === "grpc" ? [ports.http, ports.grpc] : [ports.http]) {
      const caller = open(port);
      for (const method of AdminService.methods) {
        expect((await caller.call(method, {}, all, PATIENCE_MS)).code, method.name).toBe("UNIMPLEMENTED");
      }
      caller.close();
    }
  });

  it("does not exist over REST, whose paths below /v1 mean what they mean in the A2A protocol", async () => {
    const caller = bindings.rest(ports.http);
    // A task of another owner, which an operator could read and end.
    const taskId = await taskOf(tokens.other);
    for (const method of AdminService.methods) {
      const { code, text } = await caller.call(method, { taskId, configId: "c" }, all, PATIENCE_MS);
      // `/v1` begins the paths of A2A 0.3, and is a tenant in those of 1.0.
      if (code === "OK") expect(Object.keys(JSON.parse(text)).sort(), method.name).toContain("tasks");
      else
        expect(code, method.name).toMatch(
          /^(UNIMPLEMENTED|NOT_FOUND|INVALID_ARGUMENT|HTTP 40[45]|FAILED_PRECONDITION)$/,
        );
    }
    const after = await fetch(`http://${ports.http}/tasks/${taskId}`, { headers: callerHeaders(tokens.other) });
    expect(await after.json()).toMatchObject({ status: { state: "TASK_STATE_WORKING" } });
  });

  it("does not exist over JSON-RPC", async () => {
    for (const { name } of AdminService.methods.filter((method) => !(method.localName in A2AService.method))) {
      const answer = await fetch(`http://${ports.http}/`, {
        method: "POST",
        headers: { ...all, "content-type": "application/json", "a2a-version": "1.0" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: name, params: {} }),
      });
      expect(await answer.json()).toMatchObject({ error: { code: -32601 } });
    }
  });

  it("has no metrics there", async () => {
    expect((await fetch(`http://${ports.http}/metrics`, { headers: all })).status).toBe(404);
  });

  it("takes no token of an operator", async () => {
    const answer = await fetch(`http://${ports.http}/tasks`, {
      headers: { ...bearer(tokens.write), "a2a-version": "1.0" },
    });
    expect(answer.status).toBe(401);
  });
});

describe("AdminService in a console", () => {
  it.each([
    ["nothing", {}],
    ["the credentials of a caller", { "x-key": tokens.caller, ...bearer(tokens.caller) }],
    ["the token of an operator", all],
    ["a cookie of no session", { ...all, cookie: "parley-console-1=AAAA" }],
  ])("answers no request with %s in place of a session", async (_, headers) => {
    useTestFiles();
    const { server } = await openWorld({}, { console: true, metrics: true });
    onTestFinished(() => server.close());
    const api = `http://127.0.0.1:${server.port}/console/api`;
    const calls = AdminService.methods.map(({ name }) => ["POST", `/admin/${AdminService.typeName}/${name}`] as const);
    for (const [method, path] of [...calls, ["GET", "/admin/metrics"], ["GET", "/admin/v1/server"]] as const) {
      const ask = (more: Record<string, string>): Promise<Response> =>
        fetch(api + path, {
          method,
          headers: { ...headers, ...more, "content-type": "application/json" },
          ...(method === "POST" && { body: "{}" }),
        });
      expect((await ask(own)).status, path).toBe(401);
      expect((await ask({ "sec-fetch-site": "cross-site" })).status, path).toBe(403);
    }
  });

  it("begins no session for the credentials of a caller", async () => {
    useTestFiles();
    const { server } = await openWorld({}, { console: true });
    onTestFinished(() => server.close());
    for (const headers of [{ "x-key": tokens.caller }, bearer(tokens.caller)]) {
      const answer = await logIn(`http://127.0.0.1:${server.port}/console`, headers);
      expect([answer.status, answer.headers["set-cookie"]]).toEqual([401, undefined]);
    }
  });
});

describe("the A2A protocol on the port of operators", () => {
  it.each(Object.entries(bindings))("does not exist over %s", async (_, open) => {
    const caller = open(ports.admin);
    for (const method of A2AService.methods) {
      const { code } = await caller.call(method, { id: "t", taskId: "t" }, all, PATIENCE_MS);
      expect(code, method.name).toBe("UNIMPLEMENTED");
    }
    caller.close();
  });

  it.each([
    ["GET", "/"],
    ["POST", "/"],
    ["GET", "/.well-known/agent-card.json"],
    ["GET", "/.well-known/jwks.json"],
    ["POST", "/message:send"],
    ["GET", "/tasks"],
    ["POST", "/v1/message:send"],
    ["GET", "/v1/card"],
  ])("answers %s %s with 404", async (method, path) => {
    const headers = { ...all, "content-type": "application/json" };
    const answer = await fetch(`http://${ports.admin}${path}`, { method, headers });
    expect(answer.status).toBe(404);
  });
});

describe("reflection", () => {
  it("tells callers nothing of operators, and operators nothing of callers", async () => {
    expect(await servicesAt(ports.http)).not.toContain(AdminService.typeName);
    expect(await servicesAt(ports.grpc)).not.toContain(AdminService.typeName);
    const ofAdmin = await servicesAt(ports.admin);
    expect(ofAdmin).toContain(AdminService.typeName);
    expect(ofAdmin.filter((name) => !/^(grpc|parley)\./.test(name))).toEqual([]);
  });

  it("has no file of AdminService on the ports of callers", async () => {
    for (const port of [ports.http, ports.grpc])
      expect(await fileOf(port, AdminService.typeName)).toBe("errorResponse");
    expect(await fileOf(ports.admin, AdminService.typeName)).toBe("fileDescriptorResponse");
  });
});

const reflection = (address: string) =>
  createClient(ServerReflection, createGrpcTransport({ baseUrl: `http://${address}` }));

async function servicesAt(address: string): Promise<string[]> {
  const ask = (async function* () {
    yield { messageRequest: { case: "listServices", value: "" } } as const;
  })();
  for await (const { messageResponse } of reflection(address).serverReflectionInfo(ask)) {
    if (messageResponse.case === "listServicesResponse") return messageResponse.value.service.map(({ name }) => name);
  }
  throw new Error("reflection did not answer");
}

async function fileOf(address: string, value: string): Promise<string | undefined> {
  const ask = (async function* () {
    yield { messageRequest: { case: "fileContainingSymbol", value } } as const;
  })();
  for await (const { messageResponse } of reflection(address).serverReflectionInfo(ask)) return messageResponse.case;
  throw new Error("reflection did not answer");
}
