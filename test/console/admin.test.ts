import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import { bearer, operators, tokens } from "../admin/world.js";
import { ask, type ConsoleWorld, openConsole, own, sessionOf, tokenIn } from "./world.js";

let world: ConsoleWorld;
beforeAll(async () => {
  world = await openConsole({ admin: { listen: "127.0.0.1:0", tokens: operators } });
});
afterAll(() => world.server.close());

/** A client of the operator's service in a session, like that of the page. */
function clientOf(base: string, session: Readonly<Record<string, string>>, isBinary = false) {
  const transport = createConnectTransport({
    baseUrl: `${base}/api/admin`,
    httpVersion: "1.1",
    useBinaryFormat: isBinary,
    interceptors: [
      (next) => (request) => {
        for (const [name, value] of Object.entries(session)) request.header.set(name, value);
        return next(request);
      },
    ],
  });
  return createClient(AdminService, transport);
}

const clientBy = async (how: Parameters<typeof sessionOf>[1], isBinary?: boolean) =>
  clientOf(world.base, await sessionOf(world.base, how), isBinary);

describe("the operator's service in the console", () => {
  it.each([true, false])("answers the session's operator (binary: %s)", async (isBinary) => {
    const client = await clientBy(bearer(tokens.read), isBinary);
    expect(await client.getServer({})).toMatchObject({ readiness: "ready" });
    expect((await client.listTasks({})).tasks).toEqual([]);
  });

  it("allows changes to the role write only, and audits them with the operator's name", async () => {
    const [read, write, link] = [
      await clientBy(bearer(tokens.read)),
      await clientBy(bearer(tokens.write)),
      await clientBy({ token: tokenIn(world.server.consoleUrl) }),
    ];
    world.records.length = 0;
    await expect(read.deleteOwner({ owner: "alice" })).rejects.toThrow("The operator lacks the role write.");
    await write.deleteOwner({ owner: "alice" });
    await link.deleteOwner({ owner: "bob" });
    expect(world.records.filter(({ service }) => service === "admin")).toMatchObject([
      { event: "access.denied", operator: "rita", method: "DeleteOwner", address: "127.0.0.1" },
      { event: "admin.write", operator: "wendy", method: "DeleteOwner", owner: "alice", address: "127.0.0.1" },
      { event: "admin.write", operator: "console", method: "DeleteOwner", owner: "bob", address: "127.0.0.1" },
    ]);
  });

  it("streams the changes of tasks as they happen", async () => {
    const client = await clientBy(bearer(tokens.read));
    const controller = new AbortController();
    const stream = client.followTasks({}, { signal: controller.signal })[Symbol.asyncIterator]();
    const first = stream.next();
    let isOver = false;
    void first.finally(() => {
      isOver = true;
    });
    const sent: string[] = [];
    // The stream may begin after the first task.
    while (!isOver) {
      const message = { messageId: `${sent.length}`, role: "ROLE_USER", parts: [{ text: "hello" }] };
      const { text } = await ask(`${world.server.url}/message:send`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ message }),
      });
      sent.push(JSON.parse(text).task.id);
    }
    expect(sent).toContain((await first).value?.task?.taskId);
    controller.abort();
  });

  it("takes no credentials but the session", async () => {
    const client = clientOf(world.base, { ...own, ...bearer(tokens.write) });
    await expect(client.getServer({})).rejects.toThrow(/unauthenticated/);
    const session = await sessionOf(world.base, bearer(tokens.read));
    const both = clientOf(world.base, { ...session, ...bearer(tokens.write) });
    await expect(both.deleteOwner({ owner: "alice" })).rejects.toThrow("The operator lacks the role write.");
  });

  it("has no other services and methods", async () => {
    const headers = { ...(await sessionOf(world.base, bearer(tokens.write))), "content-type": "application/json" };
    for (const path of [
      "parley.admin.v1.AdminService/None",
      "lf.a2a.v1.A2AService/ListTasks",
      "v1/server",
      "metrics",
    ]) {
      const { status } = await ask(`${world.base}/api/admin/${path}`, { method: "POST", headers, body: "{}" });
      expect(status).toBe(404);
    }
  });

  it("needs no listener of its own", async () => {
    const other = await openConsole();
    try {
      expect(other.server.adminUrl).toBe(undefined);
      const session = await sessionOf(other.base, { token: tokenIn(other.server.consoleUrl) });
      const client = clientOf(other.base, session);
      expect(await client.getServer({})).toMatchObject({ readiness: "ready" });
      const { records } = await client.listAuditRecords({});
      expect(records.map(({ event }) => event)).toContain("admin.login");
    } finally {
      await other.server.close();
    }
  });
});
