import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import { httpBearerScheme } from "../../src/auth/index.js";
import { type A2A, createA2A } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";
import { bindings, connectOverHttp1 } from "./callers.js";
import { bearer, tokens } from "./world.js";

/** The operator's service mounted in another application's server, with a declared scheme. */

const scheme = httpBearerScheme({
  check: async (token) => {
    if (token === tokens.read) return { owner: "rita", scopes: ["parley.look"] };
    if (token === tokens.write) return { owner: "wendy", scopes: ["parley.act"] };
    return token === tokens.caller ? { owner: "alice", scopes: ["read", "write"] } : undefined;
  },
});

let a2a: A2A;
let host: http.Server;
let address: string;
beforeAll(async () => {
  a2a = createA2A({
    agent: obedient("mounted"),
    store: memoryStore(),
    admin: { security: { schemes: { sso: scheme } }, roles: { read: "parley.look", write: "parley.act" } },
  });
  host = http.createServer((request, response) => a2a.admin?.handler(request, response));
  await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
  address = `127.0.0.1:${(host.address() as AddressInfo).port}`;
});
afterAll(async () => {
  host.close();
  host.closeAllConnections();
  await a2a.close();
});

describe("a2a.admin", () => {
  it("does not exist without the option", async () => {
    const other = createA2A({ agent: obedient("plain"), store: memoryStore() });
    expect(other.admin).toBe(undefined);
    await other.close();
  });

  it.each(["connect", "grpc-web", "rest"] as const)("gives roles by the scopes of a scheme over %s", async (name) => {
    // The host speaks HTTP/1.1.
    const caller = name === "connect" ? connectOverHttp1(address) : bindings[name](address);
    const { setLogLevel, listExecutions } = AdminService.method;
    const codeOf = async (token: string): Promise<string[]> => [
      (await caller.call(listExecutions, { pageSize: -1 }, bearer(token))).code,
      (await caller.call(setLogLevel, {}, bearer(token))).code,
    ];
    expect((await codeOf(tokens.read))[1]).toBe("PERMISSION_DENIED");
    expect((await codeOf(tokens.read))[0]).not.toMatch(/UNAUTHENTICATED|PERMISSION_DENIED/);
    expect((await codeOf(tokens.write))[1]).toBe("INVALID_ARGUMENT");
    // The operator's service does not know the scopes of other services.
    expect(await codeOf(tokens.caller)).toEqual(["PERMISSION_DENIED", "PERMISSION_DENIED"]);
    expect(await codeOf(tokens.wrong)).toEqual(["UNAUTHENTICATED", "UNAUTHENTICATED"]);
    caller.close();
  });

  it("answers by the Fetch API", async () => {
    const get = (path: string, headers: Record<string, string> = {}): Promise<Response> | undefined =>
      a2a.admin?.fetch(new Request(`http://admin.example${path}`, { headers }));
    expect((await get("/v1/server"))?.status).toBe(401);
    expect((await get("/healthz"))?.status).toBe(200);
    expect((await get("/v1/tasks?pageSize=x", bearer(tokens.read)))?.status).toBe(400);
  });

  it("is not part of the other handlers", async () => {
    const get = (path: string): Promise<Response> =>
      a2a.fetch(new Request(`http://agents.example${path}`, { headers: bearer(tokens.write) }));
    expect((await get("/v1/server")).status).toBe(404);
    const { typeName } = AdminService;
    const call = new Request(`http://agents.example/${typeName}/GetServer`, { method: "POST", body: "{}" });
    expect((await a2a.fetch(call)).status).toBe(404);
  });
});
