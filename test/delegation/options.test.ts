import { describe, expect, it } from "vitest";
import { type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { SubTask } from "../../src/agent/delegation.js";
import { artifact, completed, inputRequired, working } from "../../src/agent/event.js";
import { createA2A } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { testAgent, textOf } from "../../src/testing/index.js";
import { agentOf } from "./servers.js";

const said = (task: Task): string => textOf(task.status?.message ?? task);

describe("options of turn.delegate()", () => {
  it("acceptedOutputModes and metadata reach the other agent with each message of the sub-task", async () => {
    const heard: unknown[] = [];
    const other = agentOf("Other", async function* ({ acceptedOutputModes, metadata, history }) {
      heard.push([acceptedOutputModes, metadata]);
      if (history.length === 0) yield inputRequired("Which?");
    });
    const front = agentOf("Front", async function* (turn) {
      yield* turn.delegate("other", undefined, { acceptedOutputModes: ["image/png"], metadata: { goal: "logo" } });
    });
    await using test = testAgent(front, { remoteAgents: { other } });
    const task = await test.send("go", { acceptedOutputModes: ["text/plain"] });
    await test.send("this", { task });
    expect(heard).toEqual([
      [["image/png"], { goal: "logo" }],
      [["image/png"], { goal: "logo" }],
    ]);
  });

  it("are named if they are wrong, as are those of turn.call()", async () => {
    const errors: string[] = [];
    const front = agentOf("Front", async function* (turn) {
      const note = (error: unknown): number => errors.push(String(error));
      for (const options of [null, 5, [], { artifacts: "zzz", metadata: "x" }, { name: 7, contextid: "c" }]) {
        try {
          yield* turn.delegate("other", "go", options as never);
        } catch (error) {
          note(error);
        }
      }
      for (const options of [null, { timeoutMs: "5" }]) await turn.call("other", options as never).catch(note);
    });
    await using test = testAgent(front, { remoteAgents: { other: agentOf("Other", async function* () {}) } });
    await test.send("go");
    const [delegate, call] = [
      "TypeError: turn.delegate(agent, message, options)",
      "TypeError: turn.call(agent, options)",
    ];
    expect(errors).toEqual([
      `${delegate}: the options are null, not an object.`,
      `${delegate}: the options are a value of type number, not an object.`,
      `${delegate}: the options are a list, not an object.`,
      `${delegate}: artifacts is "zzz", not "hide" or "relay"; metadata is a text, not an object.`,
      `${delegate}: name is 7, not a text; the option contextid is not known: did you mean contextId?.`,
      `${call}: the options are null, not an object.`,
      `${call}: timeoutMs is "5", not a number of at least 0.`,
    ]);
  });

  it("default to the media types of the request, and to no metadata", async () => {
    let heard: unknown;
    const other = agentOf("Other", async function* ({ acceptedOutputModes, metadata }) {
      heard = [acceptedOutputModes, metadata];
      yield completed();
    });
    const front = agentOf("Front", async function* (turn) {
      yield* turn.delegate("other");
    });
    await using test = testAgent(front, { remoteAgents: { other } });
    await test.send("go", { acceptedOutputModes: ["text/plain"], metadata: { secret: 1 } });
    expect(heard).toEqual([["text/plain"], {}]);
  });
});

/** Writes a text in pieces, asks, and writes another one. */
const writer = agentOf("Writer", async function* ({ history }) {
  const name = history.length === 0 ? "one" : "two";
  yield working(`writing ${name}`);
  for (const text of ["a", "b", "c"]) yield artifact({ id: name, name, text, append: true });
  if (history.length === 0) yield inputRequired("More?");
  else yield completed("written");
});

describe("turn.delegate() with hidden artifacts", () => {
  const hiding = (results: (SubTask & { attempt: number })[]) => ({
    ...agentOf("Front", async function* (turn) {
      const result = yield* turn.delegate("writer", "write", { artifacts: "hide" });
      results.push({ ...result, attempt: turn.attempt });
      yield completed(result.text);
    }),
    recover: "restart" as const,
  });

  /** The artifacts of a result, with their number of parts. */
  const artifactsOf = ({ task }: SubTask) => task?.artifacts.map(({ artifactId, parts }) => [artifactId, parts.length]);

  it("relays texts and questions, and gives the artifacts to the author alone", async () => {
    const results: (SubTask & { attempt: number })[] = [];
    await using test = testAgent(hiding(results), { remoteAgents: { writer } });
    const task = await test.send("go");
    expect([task.status?.state, said(task), task.artifacts]).toEqual([TaskState.INPUT_REQUIRED, "More?", []]);
    const ended = await test.send("yes", { task });
    expect([said(ended), ended.artifacts]).toEqual(["abc\nabc", []]);
    expect(ended.history.map(textOf)).toEqual(["go", "writing one", "More?", "yes", "writing two", "written"]);
    expect(results.map(artifactsOf)).toEqual([
      [
        ["one", 3],
        ["two", 3],
      ],
    ]);
  });

  it.each(
    Array.from({ length: 9 }, (_, at) => at + 1).flatMap((nth) => [
      { nth, isExact: true },
      { nth, isExact: false },
    ]),
  )("is the same when the process dies at call $nth of a turn (exact resume: $isExact)", async ({ nth, isExact }) => {
    const results: (SubTask & { attempt: number })[] = [];
    const url = "http://writer.localhost";
    const other = createA2A({ agent: writer, store: memoryStore(), publicUrl: url, cardGrpc: "omit" });
    let calls = 0;
    let onCall = (): void => {};
    const spied: typeof fetch = async (input, init) => {
      if (++calls === nth) onCall();
      const request = new Request(input, init);
      const answer = await other.fetch(request);
      if (isExact || !request.url.endsWith("agent-card.json")) return answer;
      const { capabilities, ...card } = (await answer.json()) as { capabilities: object };
      return Response.json({ ...card, capabilities: { ...capabilities, extensions: [] } });
    };
    await using test = testAgent(hiding(results), { remoteAgents: { writer: { url, fetch: spied } } });
    let task = await test.send("go");
    calls = 0;
    const died = new Promise<void>((resolve) => {
      onCall = () => resolve(test.crash());
    });
    const sending = test.send("yes", { task, returnImmediately: true });
    task = await sending.catch((error: unknown) => {
      if (calls < nth) throw error;
      return task;
    });
    await expect.poll(async () => (await test.get(task).catch(() => task)).status?.state).toBe(TaskState.COMPLETED);
    if (calls >= nth) await died;
    const ended = await test.get(task);
    expect([said(ended), ended.artifacts]).toEqual(["abc\nabc", []]);
    expect(ended.history.map(textOf)).toEqual(["go", "writing one", "More?", "yes", "writing two", "written"]);
    expect(results.map(artifactsOf).at(-1)).toEqual([
      ["one", 3],
      ["two", 3],
    ]);
    await other.close({ graceMs: 0 });
  });
});
