import { describe, expect, it, onTestFinished, vi } from "vitest";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import { apiKeyScheme } from "../../src/auth/index.js";
import { newId } from "../../src/core/ids.js";
import { type Agent, type AuditRecord, completed, createServer, type Server, working } from "../../src/index.js";
import { pushRetry } from "../../src/push/outcome.js";
import { memoryStore } from "../../src/store/memory/index.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { bindings as adminBindings } from "../admin/callers.js";
import { bearer, operators, tokens } from "../admin/world.js";
import { Receiver } from "../push/receiver.js";
import { setConstants } from "../support/constants.js";
import { bindings } from "../support/drivers.js";

/** Every line and record of calls, executions, deliveries and operators has the four facts that name its cause. */

const keys = [{ owner: "alice", key: "key-of-alice" }];

const agent = (name: string): Agent => ({
  card: { name, description: "-", version: "1", skills: [] },
  security: { schemes: { key: apiKeyScheme({ in: "header", name: "X-Key", keys }) } },
  async *execute({ text, step, signal }) {
    yield working();
    await step("look", () => 1);
    if (text === "crash") throw new Error("a fault");
    if (text === "wait") await new Promise((resolve) => signal.addEventListener("abort", resolve));
    yield completed("done");
  },
});

/** A line of the log or a record of the audit log. */
interface Told {
  readonly name: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** The facts of a request that its lines have. */
interface Cause {
  readonly requestId: string;
  readonly traceId: string;
  readonly agent: string | undefined;
  taskId: string | undefined;
}

class World {
  readonly told: Told[] = [];
  readonly causes = new Map<unknown, Cause>();
  readonly store: TaskStore = memoryStore();
  server!: Server;
  receiver!: Receiver;

  async open(): Promise<void> {
    const note = (facts: object, name: string): void => void this.told.push({ name, facts: { ...facts } });
    this.receiver = await Receiver.start(({ path }, response) => {
      response.writeHead(
        path === "/accepts" ? 200 : path === "/fails" && this.receiver.of(path).length < 3 ? 500 : 410,
      );
      response.end();
    });
    this.server = await createServer({
      agents: { one: agent("First"), two: agent("Second") },
      ...{ store: this.store, port: 0, grpcPort: 0, accessLog: true },
      logger: { level: "debug", debug: note, info: note, warn: note, error: note },
      audit: { write: (record: AuditRecord) => note(record, record.event) },
      push: { allowHttp: true, allow: ["127.0.0.1"], ports: [this.receiver.port] },
      admin: { listen: "127.0.0.1:0", tokens: operators },
    });
    onTestFinished(() => this.close());
    this.told.length = 0;
  }

  /** Returns the headers of a request whose lines name this agent and task. */
  headers(requestId: string, named?: string, taskId?: string): Record<string, string> {
    const traceId = newId().replaceAll("-", "");
    this.causes.set(requestId, { requestId, traceId, agent: named, taskId });
    return { "x-request-id": requestId, traceparent: `00-${traceId}-b7ad6b7169203331-01`, "x-key": "key-of-alice" };
  }

  /** Notes the task that a message has created, and returns its id. */
  name(requestId: string, task: unknown): string {
    const { id } = task as { id: string };
    Object.assign(this.causes.get(requestId) ?? {}, { taskId: id });
    return id;
  }

  async close(): Promise<void> {
    await this.server.close({ graceMs: 0 });
    await this.receiver.stop();
  }

  /** Distinct names of the events logged for a request. */
  of(requestId: string): string[] {
    return [...new Set(this.told.filter(({ facts }) => facts.requestId === requestId).map(({ name }) => name))];
  }
}

const ofExecution = ["a step is stored", "an execution ended", "call"];
const ofWrite = ["admin.write", "call"];

/** Lines and records of each request. */
const allTold: Readonly<Record<string, readonly string[]>> = {
  accepted: [...ofExecution, "push.config-stored"],
  dead: [
    "a push notification was not accepted",
    ...ofExecution,
    "push notifications were given up",
    "push.config-stored",
    "push.dead-lettered",
  ],
  crash: ["a step is stored", "an agent failed unexpectedly", "an execution ended", "call"],
  waiting: ofExecution,
  streamed: ofExecution,
  read: ["call"],
  unknown: ["access.denied", "call"],
  stranger: ["authentication.failed", "call"],
  listed: ["call"],
  "operator-read": ["call"],
  "operator-fail": ofWrite,
  "operator-late": ofWrite,
  "operator-redrive": [...ofWrite, "push.redriven"],
  "operator-test": ["a push notification was not accepted", ...ofWrite],
  "operator-unhook": ofWrite,
  "operator-level": ofWrite,
  "operator-list": ["call"],
  "operator-refused": ["access.denied", "call"],
};

describe.each(bindings)("over $name", ({ name, connect }) => {
  it("every line and record names its request, trace, task and agent", async () => {
    setConstants(pushRetry, { firstMs: 10 });
    const world = new World();
    await world.open();
    const { server, receiver } = world;
    const driver = connect({ url: server.url, grpcPort: server.grpcPort ?? 0 });
    onTestFinished(() => driver.close());
    const message = (text: string): object => ({ messageId: newId(), role: "ROLE_USER", parts: [{ text }] });
    const send = async (requestId: string, text: string, path?: string): Promise<string> => {
      const [tenant, named] = text === "crash" ? ["two", "Second"] : ["one", "First"];
      const configuration = {
        returnImmediately: text === "wait",
        ...(path && { taskPushNotificationConfig: { id: "hook", url: receiver.url(path) } }),
      };
      const request = { tenant, message: message(text), configuration };
      const answer = await driver.call("SendMessage", request as never, { headers: world.headers(requestId, named) });
      return world.name(requestId, answer.message?.task);
    };

    const accepted = await send("accepted", "done", "/accepts");
    const dead = await send("dead", "done", "/fails");
    await send("crash", "crash");
    const waiting = await send("waiting", "wait");
    const streamed = { tenant: "one", message: message("done") } as never;
    const stream = await driver
      .stream("SendStreamingMessage", streamed, { headers: world.headers("streamed", "First") })
      .rest();
    world.name("streamed", stream.messages[0]?.task);
    const get = (headers: Record<string, string>, id: string): Promise<unknown> =>
      driver.call("GetTask", { tenant: "one", id }, { headers });
    await get(world.headers("read", "First", accepted), accepted);
    await get(world.headers("unknown", "First", "no-such-task"), "no-such-task");
    await get({ ...world.headers("stranger", "First", accepted), "x-key": "wrong" }, accepted);
    await driver.call("ListTasks", { tenant: "two" }, { headers: world.headers("listed", "Second") });
    const accepts = (): unknown => receiver.of("/accepts").length;
    await expect.poll(accepts).toBe(3);
    await expect.poll(() => world.of("dead")).toContain("push notifications were given up");

    const operator = adminBindings[name === "jsonrpc" ? "rest" : (name as keyof typeof adminBindings)](
      (server.adminUrl ?? "").replace("http://", ""),
    );
    onTestFinished(() => operator.close());
    const call = (
      rpc: keyof typeof AdminService.method,
      requestId: string,
      [named, taskId]: readonly (string | undefined)[],
      request: Record<string, unknown>,
      token: string = tokens.write,
    ) => {
      const headers = { ...world.headers(requestId, named, taskId), ...bearer(token) };
      return operator.call(AdminService.method[rpc], request, headers);
    };
    const ofDead = ["First", dead] as const;
    await call("getTask", "operator-read", ofDead, { taskId: dead });
    await call("failTask", "operator-fail", ["First", waiting], { taskId: waiting });
    await call("cancelTask", "operator-late", ofDead, { taskId: dead });
    await call("redriveDeliveries", "operator-redrive", ofDead, { keys: [{ taskId: dead, configId: "hook" }] });
    await call("sendTestEvent", "operator-test", ofDead, { taskId: dead, configId: "hook" });
    await call("deletePushConfig", "operator-unhook", ofDead, { taskId: dead, configId: "hook" });
    await call("setLogLevel", "operator-level", [], { level: "debug" });
    await call("listTasks", "operator-list", ["Second"], { tenant: "two" });
    await call("failTask", "operator-refused", [undefined, dead], { taskId: dead }, tokens.read);
    await expect.poll(() => world.of("operator-test")).toContain("call");
    await expect.poll(() => world.of("waiting")).toContain("an execution ended");

    for (const { name, facts } of world.told) {
      const cause = world.causes.get(facts.requestId);
      // A refused call may name another caller's task, so its record does not.
      const taskId = facts.outcome === "denied" ? undefined : cause?.taskId;
      const { requestId, traceId, agent } = facts;
      expect({ name, requestId, traceId, agent, taskId: facts.taskId }).toEqual({ name, ...cause, taskId });
    }
    const told = Object.fromEntries([...world.causes.keys()].map((id) => [id, world.of(`${id}`).toSorted()]));
    expect(told).toEqual(allTold);
  });
});

it("lines about tasks that an operator's call meets name the agent of each", async () => {
  const world = new World();
  await world.open();
  for (const [tenant, named] of [
    ["one", "First"],
    ["two", "Second"],
  ] as const) {
    const body = JSON.stringify({ message: { messageId: tenant, role: "ROLE_USER", parts: [{ text: "done" }] } });
    const headers = { ...world.headers(tenant, named), "content-type": "application/json", "a2a-version": "1.0" };
    const answer = await fetch(`${world.server.url}/${tenant}/message:send`, { method: "POST", headers, body });
    world.name(tenant, ((await answer.json()) as { task: unknown }).task);
  }
  vi.spyOn(world.store, "load").mockRejectedValue(new Error("damaged"));
  onTestFinished(() => void vi.restoreAllMocks());
  const operator = adminBindings.grpc((world.server.adminUrl ?? "").replace("http://", ""));
  onTestFinished(() => operator.close());
  const headers = { ...world.headers("search"), ...bearer(tokens.read) };
  await operator.call(AdminService.method.listTasks, { text: "x" }, headers);
  const { traceId } = world.causes.get("search") ?? {};
  const lines = world.told
    .filter(({ name }) => name === "a task cannot be read")
    .toSorted((one, other) => (`${one.facts.agent}` < `${other.facts.agent}` ? -1 : 1));
  expect(lines.map(({ facts: { err: _, ...facts } }) => facts)).toEqual(
    ["one", "two"].map((tenant) => {
      const { taskId, agent } = world.causes.get(tenant) ?? {};
      return { requestId: "search", traceId, taskId, agent };
    }),
  );
});
