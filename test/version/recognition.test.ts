import { afterAll, afterEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../src/core/log.js";
import type { A2AOptions } from "../../src/server/options.js";
import { serviceSwitchedOff } from "../../src/version/mismatch-errors.js";
import { servedVersions } from "../../src/version/versions.js";
import { agent, Served, said, said1 } from "./served.js";

const opened: Served[] = [];
const serve = (options: Partial<A2AOptions> = {}): Served => {
  const served = new Served(options);
  opened.push(served);
  return served;
};
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

const all = new Served();
afterAll(() => all.close());

/** Version of the task in an answer, or the code of an error. */
async function outcome(served: Served, method: string, version: string | undefined, params: object): Promise<unknown> {
  const headers = version === undefined ? {} : { "a2a-version": version };
  const { json } = await served.rpc(method, params, headers);
  if (json.error !== undefined) return json.error.code;
  return json.result.kind === "task" ? "0.3" : "1.0";
}

describe("a call over JSON-RPC", () => {
  it.each([
    ["message/send", undefined, "0.3"],
    ["message/send", "", "0.3"],
    ["message/send", "0.3", "0.3"],
    ["message/send", "0.3.7", "0.3"],
    ["message/send", "0.2", "0.3"],
    ["message/send", "1.0", -32601],
    ["message/send", "0.5", -32009],
    ["message/send", "99.0", -32009],
    ["SendMessage", undefined, "1.0"],
    ["SendMessage", "1.0", "1.0"],
    ["SendMessage", "1.0.3", "1.0"],
    ["SendMessage", "", -32009],
    ["SendMessage", "0.3", -32601],
    ["SendMessage", "0.2", -32601],
    ["SendMessage", "99.0", -32009],
    ["message.send", undefined, -32601],
    ["tasks/list", undefined, -32601],
    ["agent/getAuthenticatedExtendedCard", "0.2", -32601],
  ])("of %s that names version %s is answered by %s", async (method, version, expected) => {
    expect(await outcome(all, method, version, method === "SendMessage" ? said1("hello") : said("hello"))).toBe(
      expected,
    );
  });

  it("is told which version has its method, where that is another one than it names", async () => {
    const { json } = await all.rpc("ListTasks", {}, { "a2a-version": "0.3" });
    expect(json.error.message).toBe(
      'Method not found: "ListTasks" is a method of A2A 1.0, and the call names version 0.3 (header A2A-Version).',
    );
    const other = await all.rpc("message/send", said("x"), { "a2a-version": "1.0" });
    expect(other.json.error.message).toContain('"message/send" is a method of A2A 0.3, and the call names version 1.0');
  });

  it("of a strict server names its version, unless it is of one from before there was a name for it", async () => {
    const strict = serve({ strictVersion: true });
    expect(await outcome(strict, "message/send", undefined, said("hello"))).toBe("0.3");
    expect(await outcome(strict, "SendMessage", undefined, said1("hello"))).toBe(-32009);
    expect(await outcome(strict, "SendMessage", "1.0", said1("hello"))).toBe("1.0");
    const rest = await strict.send({ path: "/message:send", body: said1("hello") });
    expect([rest.status, rest.json.error.status]).toEqual([400, "FAILED_PRECONDITION"]);
    const why =
      "The call does not name a version, which means 0.3 (specification 3.6.2): send A2A-Version: 1.0 with it.";
    expect(rest.json.error.message).toBe(why);
    expect((await strict.rpc("SendMessage", said1("hello"))).json.error.message).toBe(why);
    const alone = serve({ strictVersion: true, versions: ["1.0"] });
    expect((await alone.rpc("SendMessage", said1("hello"))).json.error.message).toBe(why);
    expect((await strict.send({ path: "/v1/message:send", body: said("hello") })).status).toBe(200);
  });

  it("of a version that is switched off is told what is spoken", async () => {
    const served = serve({ versions: ["1.0"] });
    const { json } = await served.rpc("message/send", said("hello"));
    expect(json.error).toMatchObject({
      code: -32601,
      message:
        'Method not found: "message/send" belongs to an earlier version of A2A. ' +
        "This server speaks A2A 1.0 (header A2A-Version: 1.0), where the method is SendMessage.",
    });
    expect(await outcome(served, "message/send", "0.3", said("hello"))).toBe(-32009);
    const rest = await served.send({ path: "/v1/card" });
    expect(rest.json.error.message).toContain("Paths below /v1 belong to an earlier version of A2A.");
    const sent = await served.send({ path: "/v1/message:send", body: { request: {} } });
    expect(sent.json.error.message).toContain("message: is required. Paths below /v1 belong to");
    // Without 0.3 its methods are those of 0.2.
    const second = serve({ versions: ["1.0", "0.2"] });
    expect(await outcome(second, "message/send", undefined, said("hello"))).toBe("0.3");
    expect(await outcome(second, "message/send", "0.3", said("hello"))).toBe(-32009);
    expect((await second.rpc("agent/getAuthenticatedExtendedCard")).json.error.message).toContain(
      "GetExtendedAgentCard",
    );
  });

  it("of a path without a service is not of a version that is switched off", () => {
    const versions = servedVersions.only(["1.0"]);
    expect(serviceSwitchedOff("/a2a.v1.A2AService/SendMessage", versions)?.reason).toBe("METHOD_NOT_FOUND");
    for (const path of ["*", "", "/", "SendMessage"]) expect(serviceSwitchedOff(path, versions)).toBeUndefined();
  });

  it("is refused as a batch where one of its members is of a version without batches, and then none is run", async () => {
    const call = (id: number, method: string, params: object) => ({ jsonrpc: "2.0", id, method, params });
    const body = [
      call(1, "SendMessage", said1("hello", { contextId: "batch" })),
      call(2, "message/send", said("hello", { contextId: "batch" })),
    ];
    const { json } = await all.send({ body });
    expect(json).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32600 } });
    const listed = await all.rpc("ListTasks", { contextId: "batch" });
    expect(listed.json.result.totalSize).toBe(0);
    expect((await all.send({ body: body.slice(0, 1) })).json).toHaveLength(1);
  });

  it("without id, or jsonrpc, is answered in versions whose clients leave them out, and in no other", async () => {
    const { json } = await all.send({ body: { method: "message/send", params: said("hello") } });
    expect(json).toMatchObject({ jsonrpc: "2.0", id: null, result: { kind: "task" } });
    const stream = await all.send({ body: { jsonrpc: "2.0", method: "message/stream", params: said("hello") } });
    expect(stream.events.at(-1)).toMatchObject({ id: null, result: { final: true } });
    const wrong = await all.send({ body: { jsonrpc: "1.0", id: 1, method: "message/send", params: said("hello") } });
    expect(wrong.json.error.code).toBe(-32600);
    const native = await all.send({ body: { id: 1, method: "SendMessage", params: said1("hello") } });
    expect(native.json.error.code).toBe(-32600);
    expect((await all.send({ body: { jsonrpc: "2.0", method: "SendMessage", params: said1("x") } })).status).toBe(204);
  });
});

describe("a message that is refused over JSON-RPC", () => {
  const parts = [{ kind: "text", text: "hello" }];
  const older = { id: "mine", message: { role: "agent", parts: [{ type: "text", text: "hello" }] } };
  const mine = { message: { kind: "message", role: "agent", messageId: "m", parts } };

  it.each([
    ["message/send", mine, "message.role: must be user in a message to an agent"],
    ["tasks/send", older, "message.role: must be user in a message to an agent"],
    ["SendMessage", said1("x", { role: "ROLE_AGENT" }), "message.role: must be ROLE_USER in a message to an agent"],
  ])("is so in the words of the version: %s", async (method, params, why) => {
    const { error } = (await all.rpc(method, params)).json;
    expect(error.message).toBe(`Invalid parameters: ${why}`);
    if (method === "tasks/send") return;
    const [field, description] = why.split(": ");
    expect(error.data[1].fieldViolations).toEqual([{ field, description }]);
  });
});

describe("a call over HTTP+JSON", () => {
  const send = (path: string, version?: string) =>
    all.send({
      path,
      body: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] } },
      headers: version === undefined ? {} : { "a2a-version": version },
    });

  it.each([
    ["/v1/message:send", undefined, 200, "application/json"],
    ["/v1/message:send", "", 200, "application/json"],
    ["/v1/message:send", "0.3", 200, "application/json"],
    ["/v1/message:send", "0.5", 400, "application/json"],
    ["/v1/message:send", "0.2", 404, "application/json"],
    ["/message:send", undefined, 200, "application/a2a+json"],
    ["/message:send", "1.0", 200, "application/a2a+json"],
    ["/message:send", "", 400, "application/json"],
    ["/message:send", "0.3", 404, "application/json"],
  ])("of %s that names version %s has status %s and type %s", async (path, version, status, type) => {
    const answer = await send(path, version);
    expect([answer.status, answer.type]).toEqual([status, type]);
  });

  it("is told which version has its path, where that is another one than it names, and is in the log", async () => {
    const lines: string[] = [];
    const logger = { ...silentLogger, warn: (facts: object, text: string) => lines.push(JSON.stringify(facts), text) };
    const served = serve({ logger, audit: false });
    lines.length = 0;
    const why = (named: string, owner: string): string =>
      `Nothing is served under this path in A2A ${named}, which the call names (header A2A-Version); ` +
      `paths like this are those of ${owner}.`;
    const first = await served.send({ path: "/tasks/t", headers: { "a2a-version": "0.3" } });
    expect(first.json).toMatchObject({ code: -32601, message: why("0.3", "1.0") });
    const second = await served.send({ path: "/v1/card", headers: { "a2a-version": "1.0" } });
    expect(second.json.error).toMatchObject({ code: 404, message: why("1.0", "0.3") });
    const third = await served.send({ path: "/v1/card", headers: { "a2a-version": "7.7" } });
    expect([third.status, third.json.error.status]).toEqual([400, "FAILED_PRECONDITION"]);
    expect(lines.filter((line) => line.startsWith("A call's version does not fit:"))).toHaveLength(3);
    expect(lines[0]).toContain('"binding":"rest","asked":"/tasks/t","version":"0.3"');
  });

  it("is in the log with the whole of its path below the URL of an agent as well", async () => {
    const lines: string[] = [];
    const logger = { ...silentLogger, warn: (facts: object) => lines.push(JSON.stringify(facts)) };
    const served = serve({ agents: { one: agent, "zwei 2": agent }, logger, audit: false } as never);
    lines.length = 0;
    const { status } = await served.send({ path: "/zwei%202/v1/card", headers: { "a2a-version": "1.0" } });
    expect([status, lines]).toEqual([404, [expect.stringContaining('"asked":"/zwei%202/v1/card"')]]);
  });

  it("below /v1 is one of a tenant of that name where it names 1.0, and one of 0.3 otherwise", async () => {
    const served = serve();
    const body = said1("hello");
    const mine = await served.send({ path: "/v1/message:send", body, headers: { "a2a-version": "1.0" } });
    const id = mine.json.task.id;
    const read = (version?: string) =>
      served.send({ path: `/v1/tasks/${id}`, headers: version === undefined ? {} : { "a2a-version": version } });
    expect((await read("1.0")).json).toMatchObject({ id });
    const other = await read();
    expect([other.status, other.json.code]).toEqual([404, -32001]);
    // 0.3 has no list, and does not show that of the tenant.
    const list = await served.send({ path: "/v1/tasks" });
    expect([list.status, list.json.code]).toEqual([404, -32601]);
    const own = await served.send({ path: "/v1/tasks", headers: { "a2a-version": "1.0" } });
    expect(own.json.tasks).toHaveLength(1);
  });

  it("below /v1 that names 1.0 and is no call of it is told how those of 0.3 are made", async () => {
    const headers = { "a2a-version": "1.0" };
    const sent = (served: Served) =>
      served.send({ path: "/v1/message:send", headers, body: { request: { content: [{ text: "hello" }] } } });
    const why =
      "Invalid parameters: message: is required. Paths below /v1 are those of A2A 0.3 in calls that do not name 1.0 (header " +
      'A2A-Version); this one is for the tenant "v1".';
    const { status, json } = await sent(serve());
    expect([status, json.error.message]).toEqual([400, why]);
    expect(json.error.details[1].fieldViolations).toEqual([{ field: "message", description: "is required" }]);
    const off = await sent(serve({ versions: ["1.0"] }));
    expect(off.json.error.message).toMatch(/^Invalid parameters: message: is required$/);
  });

  it("is for the agent of its URL in versions without tenants, whatever it says", async () => {
    const served = serve({ agents: { one: agent, two: agent } } as never);
    const asked = await served.send({ path: "/v1/message:send?tenant=one", body: { ...said("hello"), tenant: "one" } });
    expect([asked.status, asked.json.code]).toEqual([400, -32602]);
    const rpc = await served.rpc("message/send", { ...said("hello"), tenant: "one" });
    const why =
      "tenant: is required, and messages of A2A 0.3 have none: over JSON-RPC and HTTP+JSON each agent has a URL of its own";
    expect(rpc.json.error).toMatchObject({ code: -32602, message: expect.stringContaining(why) });
    const native = await served.rpc("SendMessage", said1("hello"));
    expect(native.json.error.message).toBe(
      "Invalid parameters: tenant: is required: the card names one for each agent here, and HTTP+JSON has it as the first part of the path",
    );
    const body = { ...said("hello"), tenant: "one" };
    const { json } = await served.send({ path: "/two/v1/message:send?tenant=one", body });
    const mine = await served.send({ path: `/two/tasks/${json.task.id}` });
    expect(mine.json).toMatchObject({ id: json.task.id });
  });
});
