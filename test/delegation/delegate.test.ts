import { afterEach, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { SubTask } from "../../src/agent/delegation.js";
import { artifact, authRequired, completed, failed, inputRequired, reply, working } from "../../src/agent/event.js";
import type { A2AClient } from "../../src/client/client.js";
import { connectWith } from "../../src/client/connect.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import { testAgent, textOf } from "../../src/testing/index.js";
import { merged } from "./merged.js";
import { agentOf, Servers } from "./servers.js";

const connect = connectWith(nodePlatform);
const servers = new Servers();
const clients: A2AClient[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await servers.close();
});

async function clientOf(url: string): Promise<A2AClient> {
  const client = await connect(url);
  clients.push(client);
  return client;
}

/** An agent that yields texts and artifacts. */
const writer = agentOf("Writer", async function* (turn) {
  yield working("thinking");
  yield artifact({ id: "poem", name: "poem", text: "roses " });
  yield artifact({ id: "poem", text: "are ", append: true });
  yield artifact({ id: "poem", text: turn.text, append: true, lastChunk: true });
  yield artifact({ id: "data", data: { lines: 1 }, metadata: { kind: "count" } });
  yield completed("written");
});

describe("turn.delegate()", () => {
  it("relays texts and artifacts as they come, and gives the sub-task as it ended", async () => {
    const other = await servers.serve(writer);
    let got: SubTask | undefined;
    const front = await servers.serve(
      agentOf("Front", async function* (turn) {
        got = yield* turn.delegate("writer", `red for ${turn.text}`);
        yield completed(got.text);
      }),
      { remoteAgents: { writer: other.url } },
    );
    const client = await clientOf(front.url);
    const kinds: string[] = [];
    let last: unknown;
    for await (const { kind, task } of client.stream("me")) {
      kinds.push(kind);
      last = task;
    }
    expect(last).toMatchObject({
      status: { state: TaskState.COMPLETED },
      artifacts: [
        { artifactId: "1.0/poem", name: "poem", parts: [{}, {}, { content: { value: "red for me" } }] },
        { artifactId: "1.0/data", metadata: { kind: "count" } },
      ],
    });
    expect(kinds).toEqual([
      "task",
      "status",
      "status",
      "status",
      "artifact",
      "artifact",
      "artifact",
      "artifact",
      "status",
      "status",
    ]);
    expect(got).toMatchObject({ agent: "writer", state: TaskState.COMPLETED, text: "roses are red for me" });
    expect(got?.task?.artifacts).toHaveLength(2);
  });

  it("gives direct answers and failures to the agent that asked", async () => {
    const direct = await servers.serve(
      agentOf(
        "Direct",
        async function* () {
          yield reply("at once");
        },
        { responds: "message" },
      ),
    );
    const fails = await servers.serve(
      agentOf("Fails", async function* () {
        yield failed("cannot");
      }),
    );
    const front = await servers.serve(
      agentOf("Front", async function* (turn) {
        const one = yield* turn.delegate("direct");
        const two = yield* turn.delegate(fails.url);
        yield completed(`${one.text} ${one.message?.parts.length} ${TaskState[two.state]} ${two.text}`);
      }),
      { remoteAgents: { direct: { url: direct.url } } },
    );
    const answer = await (await clientOf(front.url)).send("go");
    expect(answer.text).toBe("at once 1 FAILED cannot");
  });

  it("ends the turn at a question, whatever its agent catches, and goes on with what ran beside it", async () => {
    let proceed = (): void => {};
    const held = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const began: string[] = [];
    const asks = agentOf("Asks", async function* (turn) {
      began.push("asks");
      if (turn.history.length === 0) yield inputRequired("which?");
      else yield completed(`asked ${turn.text}`);
    });
    const slow = agentOf("Slow", async function* (turn) {
      began.push("slow");
      yield artifact({ id: "a", text: "one " });
      await Promise.race([held, new Promise((_, reject) => turn.signal.addEventListener("abort", reject))]);
      yield artifact({ id: "a", text: "two", append: true });
    });
    const seen: string[] = [];
    const front = agentOf("Front", async function* (turn) {
      const both = [turn.delegate("slow"), turn.delegate("asks")];
      try {
        yield* merged(both, (each) => seen.push(each.text));
        yield completed("both");
      } catch (error) {
        seen.push(String(error));
        yield failed("caught");
      } finally {
        seen.push("finally");
      }
    });
    await using test = testAgent(front, { remoteAgents: { asks, slow } });
    const asked = await test.send("go");
    expect(asked.status?.state).toBe(TaskState.INPUT_REQUIRED);
    await expect.poll(() => seen).toEqual(["finally"]);
    proceed();
    const task = await test.send("blue", { task: asked });
    expect(task.status?.state).toBe(TaskState.COMPLETED);
    expect(task.artifacts.map(({ parts }) => parts.length)).toEqual([2]);
    expect(seen.toSorted()).toEqual(["asked blue", "finally", "finally", "one two"]);
    expect(began.toSorted()).toEqual(["asks", "asks", "slow"]);
  });

  it("passes a question on and the answer back, through two levels", async () => {
    const heard: string[] = [];
    const deep = await servers.serve(
      agentOf("Deep", async function* (turn) {
        heard.push(turn.text);
        if (turn.history.length === 0) yield inputRequired("which day?");
        else yield artifact({ id: "a", text: `on ${turn.text}` });
      }),
    );
    const middle = await servers.serve(
      agentOf("Middle", async function* (turn) {
        const { text } = yield* turn.delegate("deep", `ask: ${turn.text}`);
        yield artifact({ id: "b", text: `middle: ${text}` });
      }),
      { remoteAgents: { deep: deep.url } },
    );
    const front = await servers.serve(
      agentOf("Front", async function* (turn) {
        const first = yield* turn.delegate("writer", "x", { name: "first" });
        const { text } = yield* turn.delegate("middle", turn.text);
        yield completed(`${first.text} | ${text}`);
      }),
      { remoteAgents: { middle: middle.url, writer: (await servers.serve(writer)).url } },
    );
    const client = await clientOf(front.url);
    const asked = await client.send("trip");
    expect(asked).toMatchObject({ state: TaskState.INPUT_REQUIRED });
    expect(asked.task?.status?.message?.parts[0]?.content.value).toBe("which day?");
    const answer = await client.send({ parts: "Tuesday", taskId: asked.taskId as string });
    expect(answer.state).toBe(TaskState.COMPLETED);
    expect(heard).toEqual(["ask: trip", "Tuesday"]);
    expect(answer.task?.status?.message?.parts[0]?.content.value).toMatch(
      /^roses are x \| on Tuesday\nmiddle: on Tuesday$/,
    );
    const ids = answer.task?.artifacts.map(({ artifactId }) => artifactId);
    expect(ids).toEqual(["1.first/poem", "1.first/data", "1.1/1.0/a", "1.1/b"]);
    // A delegation that ended before the question is neither relayed nor executed again.
    expect(answer.task?.artifacts[0]?.parts).toHaveLength(3);
  });

  it("asks for authorization where the other agent does, and hands on what the user says", async () => {
    const heard: string[] = [];
    const careful = agentOf("Careful", async function* (turn) {
      heard.push(turn.text);
      if (turn.history.length === 0) yield authRequired("log in");
      else yield completed(`let in by ${turn.text}`);
    });
    const front = agentOf("Front", async function* (turn) {
      const { text } = yield* turn.delegate("careful");
      yield completed(text);
    });
    await using test = testAgent(front, { remoteAgents: { careful } });
    const asked = await test.send("go");
    expect([asked.status?.state, textOf(asked.status?.message ?? asked)]).toEqual([TaskState.AUTH_REQUIRED, "log in"]);
    const task = await test.send("a code", { task: asked });
    expect(task.status?.state).toBe(TaskState.COMPLETED);
    expect(textOf(task.status?.message ?? task)).toBe("let in by a code");
    expect(heard).toEqual(["go", "a code"]);
  });

  it("goes on with a sub-task that was authorized by another way meanwhile, and tells it nothing", async () => {
    let authorize = (): void => {};
    const authorized = new Promise<void>((resolve) => {
      authorize = resolve;
    });
    const heard: string[] = [];
    let isOver = false;
    const careful = agentOf("Careful", async function* (turn) {
      heard.push(turn.text);
      yield authRequired("log in");
      await authorized;
      yield artifact({ id: "a", text: "done" });
      try {
        yield completed();
      } finally {
        isOver = true;
      }
    });
    const front = agentOf("Front", async function* (turn) {
      const { text } = yield* turn.delegate("careful");
      yield completed(text);
    });
    await using test = testAgent(front, { remoteAgents: { careful } });
    const asked = await test.send("go");
    expect(asked.status?.state).toBe(TaskState.AUTH_REQUIRED);
    authorize();
    await expect.poll(() => isOver).toBe(true);
    const task = await test.send("I am logged in", { task: asked });
    expect(task.status?.state).toBe(TaskState.COMPLETED);
    expect(task.artifacts.map(textOf)).toEqual(["done"]);
    expect(heard).toEqual(["go"]);
  });
});
