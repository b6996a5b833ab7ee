import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { artifact, completed, failed } from "../../src/agent/event.js";
import { type A2AClient, apiKey, connect } from "../../src/client/index.js";
import { agentOf, Servers } from "../delegation/servers.js";
import { servers as foreign, KEY, type Started } from "./support/servers.js";

/* A Parley agent that delegates to an agent served with another library. */

/** Calls the other agent once for `call …`. Delegates other texts, and then adds an artifact of its own. */
const front = agentOf("Front", async function* (turn) {
  if (turn.text.startsWith("call ")) {
    const other = await turn.call("other");
    const { text, state } = await other.send(turn.text.slice("call ".length));
    yield artifact({ name: "called", text });
    yield state === undefined || state === TaskState.COMPLETED ? completed() : failed(TaskState[state]);
    return;
  }
  const { text, state } = yield* turn.delegate("other");
  yield artifact({ name: "added", text: `Added to: ${text}` });
  yield state === TaskState.COMPLETED ? completed() : failed(`It ended as ${TaskState[state]}.`);
});

const textsOf = (task: { artifacts: readonly { parts: readonly { content: { value?: unknown } }[] }[] } | undefined) =>
  task?.artifacts.map(({ parts }) => parts.map(({ content }) => content.value).join(""));

/** The results that our agent's user gets, with every other server. */
const stories: Readonly<Record<string, (client: A2AClient, other: A2AClient) => Promise<void>>> = {
  "a stream with the other's artifact as it grows": async (client) => {
    let text = "";
    let last: Parameters<typeof textsOf>[0];
    for await (const update of client.stream("stream 5 60 60")) {
      if (update.kind === "artifact") text += update.text;
      last = update.task;
    }
    const [pieces = "", added] = textsOf(last) ?? [];
    expect(pieces).not.toBe("");
    expect(added).toBe(`Added to: ${pieces}`);
    expect(text).toBe(`${pieces}${added}`);
  },
  "a direct answer": async (client) => {
    const { state, task } = await client.send("say hello");
    expect([state, textsOf(task)]).toEqual([TaskState.COMPLETED, ["Added to: hello"]]);
  },
  "a failure, and why": async (client) => {
    const { state, task } = await client.send("fail It did not work.");
    expect([state, textsOf(task)]).toEqual([TaskState.FAILED, ["Added to: It did not work."]]);
  },
  "the other's question, whose answer goes to the same sub-task": async (client) => {
    const talk = client.conversation();
    const asked = await talk.send("ask");
    expect([asked.state, asked.text]).toEqual([TaskState.INPUT_REQUIRED, "What do you mean?"]);
    const { state, task } = await talk.send("This.");
    expect([state, textsOf(task)]).toEqual([TaskState.COMPLETED, ["This.", "Added to: This."]]);
  },
  "one call, without a sub-task's events": async (client) => {
    const { state, task } = await client.send("call echo hello");
    expect([state, textsOf(task)]).toEqual([TaskState.COMPLETED, ["hello"]]);
  },
  "a cancel that reaches the other": async (client, other) => {
    const { taskId = "" } = await client.send("wait 60000", { returnImmediately: true });
    const open = async () => {
      const { tasks } = await other.listTasks({});
      return tasks.filter(({ status }) => status?.state === TaskState.WORKING).map(({ id }) => id);
    };
    await expect.poll(open, { timeout: 20_000 }).toHaveLength(1);
    const [id = ""] = await open();
    expect((await client.cancelTask({ id: taskId })).status?.state).toBe(TaskState.CANCELED);
    await expect
      .poll(async () => (await other.getTask({ id })).status?.state, { timeout: 20_000 })
      .toBe(TaskState.CANCELED);
  },
};

describe.each(Object.keys(foreign))("an agent that delegates to one served with %s", (name) => {
  const servers = new Servers();
  let started: Started;
  let client: A2AClient;
  let other: A2AClient;

  beforeAll(async () => {
    // The other server requires a key, which is this server's own.
    started = await (foreign[name] as (typeof foreign)[string])({ pushPort: 1 });
    const remote = { url: started.url, credentials: apiKey(KEY) };
    const { url } = await servers.serve(front, { remoteAgents: { other: remote } });
    client = await connect(url);
    other = await connect(started.url, { credentials: apiKey(KEY), card: { cache: false } });
  }, 300_000);

  afterAll(async () => {
    await client?.close();
    await other?.close();
    await servers.close();
    await started?.stop();
  });

  it.each(Object.keys(stories))("has for its user %s", (story) =>
    (stories[story] as (typeof stories)[string])(client, other),
  );
});
