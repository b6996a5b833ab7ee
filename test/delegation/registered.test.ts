import { afterEach, describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type AgentEvent, completed } from "../../src/agent/event.js";
import { connect } from "../../src/client/index.js";
import { createFetchA2A } from "../../src/fetch.js";
import { createA2A, type RemoteAgentRegistry } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { textOf } from "../../src/testing/index.js";
import { agentOf, Servers } from "./servers.js";

const servers = new Servers();
afterEach(() => servers.close());

const said = (task: Task | undefined): string =>
  task?.status?.message === undefined ? "" : textOf(task.status.message);

/** Delegates its messages to the agent `other`. */
const front = agentOf("Front", async function* (turn): AsyncGenerator<AgentEvent> {
  const { text } = yield* turn.delegate("other", turn.text);
  yield completed(text);
});

const named = (name: string) =>
  agentOf(name, async function* (turn) {
    yield completed(`${name} ${turn.text}`);
  });

describe("remoteAgents of a running server", () => {
  it("adds, replaces and removes agents", async () => {
    const [one, two] = [await servers.serve(named("one")), await servers.serve(named("two"))];
    const known: unknown[] = [];
    const noting = agentOf("Front", (turn) => {
      known.push(turn.remoteAgents);
      return front.execute(turn);
    });
    const server = await servers.serve(noting, { remoteAgents: { first: "https://first.example" } });
    const client = await connect(server.url);
    const ask = async () => said((await client.send("go")).task);
    expect(await ask()).toMatch(/unexpected|error/i);
    server.remoteAgents.add("other", one.url);
    expect(server.remoteAgents.names).toEqual(["first", "other"]);
    expect(await ask()).toBe("one go");
    expect(known).toEqual([["first"], ["first", "other"]]);
    server.remoteAgents.add("other", { url: two.url });
    expect(await ask()).toBe("two go");
    expect([server.remoteAgents.remove("other"), server.remoteAgents.remove("other")]).toEqual([true, false]);
    expect(server.remoteAgents.names).toEqual(["first"]);
    expect((await client.send("go")).state).toBe(TaskState.FAILED);
    await client.close();
  });

  it("lets a delegation in progress end with an agent that is removed", async () => {
    let proceed = (): void => {};
    const held = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const slow = await servers.serve(
      agentOf("Slow", async function* () {
        await held;
        yield completed("slow");
      }),
    );
    const server = await servers.serve(front, { remoteAgents: { other: slow.url } });
    const client = await connect(server.url);
    const { taskId = "" } = await client.send("go", { returnImmediately: true });
    await expect.poll(async () => (await client.getTask({ id: taskId })).status?.state).toBe(TaskState.WORKING);
    server.remoteAgents.remove("other");
    proceed();
    await expect.poll(async () => said(await client.getTask({ id: taskId }))).toBe("slow");
    await client.close();
  });

  const registries: [string, () => RemoteAgentRegistry][] = [
    ["createA2A", () => createA2A({ agent: front, store: memoryStore() }).remoteAgents],
    ["createFetchA2A", () => createFetchA2A({ agent: front, store: memoryStore() }).remoteAgents],
  ];

  it.each(registries)("checks names, addresses and options as the option does: %s", (_name, make) => {
    const registry = make();
    const add = registry.add as (name: unknown, agent: unknown) => void;
    expect(() => add("a", "ftp://b")).toThrow('remoteAgents.a.url is "ftp://b", not a URL of http or https');
    expect(() => add("a", { url: "https://a.example", passCaller: "false" })).toThrow(
      'remoteAgents.a.passCaller is "false", not true or false',
    );
    expect(() => add("a", { uri: "https://a.example" })).toThrow("remoteAgents.a.uri is not known");
    expect(() => add("", "https://a.example")).toThrow("the name of the agent is empty or not a text");
    expect(() => add(5, "https://a.example")).toThrow("the name of the agent is empty or not a text");
    expect(registry.names).toEqual([]);
    add("__proto__", "https://a.example");
    expect(registry.names).toEqual(["__proto__"]);
  });

  it("passes the caller's token to an agent that was added", async () => {
    const heard: unknown[] = [];
    const other = await servers.serve(named("other"), {
      interceptors: [
        (next) => (invocation) => {
          heard.push(invocation.call.header("authorization"));
          return next(invocation);
        },
      ],
    });
    const authenticator = { authenticate: () => ({ owner: "somebody" }) };
    const server = await servers.serve(front, { authenticator });
    server.remoteAgents.add("other", { url: other.url, passCaller: true });
    const client = await connect(server.url);
    const { state } = await client.send("go", { headers: { authorization: "Bearer abc" } });
    expect([state, new Set(heard)]).toEqual([TaskState.COMPLETED, new Set(["Bearer abc"])]);
    await client.close();
  });
});
