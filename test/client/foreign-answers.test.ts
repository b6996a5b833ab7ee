import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { serverOf } from "./scripted.js";

// Answers of 1.0 servers that differ from the contract.

const ids = { taskId: "t", contextId: "c" };
const agentMessage = (parts: readonly object[], role = "ROLE_AGENT") => ({
  kind: "message",
  role,
  parts,
  messageId: "m",
  ...ids,
});
const said = (text: string) => agentMessage([{ kind: "text", text }]);
const file = { kind: "file", file: { uri: "https://a.example/f", name: "f.txt", mimeType: "text/plain" } };
const bytes = { kind: "file", file: { bytes: "AQID", mimeType: "image/png" } };
const task = (state: string, more: object = {}) => ({
  kind: "task",
  id: "t",
  contextId: "c",
  history: [agentMessage([{ kind: "text", text: "Hello" }], "user")],
  status: { state, timestamp: "2026-01-02T03:04:05.678901+00:00" },
  ...more,
});
const artifact = (parts: readonly object[]) => ({ artifactId: "a", name: "a", parts });

/**
 * The stream of LangGraph's server (`langgraph-api` 0.16). The task has the contract's form, and events have `kind`.
 */
const langGraph = [
  { task: task("TASK_STATE_SUBMITTED") },
  { ...ids, kind: "status-update", status: { state: "TASK_STATE_WORKING" }, final: false },
  { ...ids, kind: "artifact-update", artifact: artifact([{ kind: "text", text: "some " }]) },
  {
    ...ids,
    kind: "artifact-update",
    append: true,
    artifact: artifact([{ kind: "text", text: "text" }, { kind: "data", data: { a: [1] } }, file, bytes]),
  },
  { ...ids, kind: "status-update", status: { state: "TASK_STATE_COMPLETED" }, final: true },
];

/** The stream of a server that uses more forms of 0.3. */
const older = [
  task("submitted"),
  ...langGraph.slice(1, 4),
  {
    ...ids,
    kind: "status-update",
    status: { state: "completed", message: agentMessage([file], "agent") },
    final: true,
  },
];

const contents = [
  { case: "text", value: "some " },
  { case: "text", value: "text" },
  { case: "data", value: expect.anything() },
  { case: "url", value: "https://a.example/f" },
  { case: "raw", value: new Uint8Array([1, 2, 3]) },
];

describe.each(["JSONRPC", "HTTP+JSON"])("answers with kind over %s", (binding) => {
  it.each([
    ["LangGraph's", langGraph],
    ["that of 0.3", older],
  ])("are read in a stream of the form %s", async (_, events) => {
    const client = await serverOf(binding, events);
    const kinds: string[] = [];
    let streamed = "";
    let last = {};
    for await (const update of client.stream("x")) {
      kinds.push(update.kind);
      streamed += update.text;
      last = update.task ?? {};
    }
    expect(kinds).toEqual(["task", "status", "artifact", "artifact", "status"]);
    expect(streamed).toBe("some text");
    expect(last).toMatchObject({ id: "t", status: { state: TaskState.COMPLETED } });
    const [{ parts } = { parts: [] }] = (last as { artifacts: { parts: { content: unknown; filename: string }[] }[] })
      .artifacts;
    expect(parts.map(({ content }) => content)).toEqual(contents);
    expect(parts[3]).toMatchObject({ filename: "f.txt", mediaType: "text/plain" });
  });

  it("are read as a direct message, streamed or not", async () => {
    for (const answer of [said("Hi"), { message: said("Hi") }]) {
      const client = await serverOf(binding, [answer], { SendMessage: answer, ":send": answer });
      expect((await client.send("x")).text).toBe("Hi");
      let streamed = "";
      for await (const update of client.stream("x")) streamed += update.text;
      expect(streamed).toBe("Hi");
    }
  });

  it("are read as a task that is sent, read and listed", async () => {
    const done = task("completed", { artifacts: [artifact([{ kind: "text", text: "all" }, bytes])] });
    for (const sent of [done, { task: done }]) {
      const list = { tasks: [done], nextPageToken: "", pageSize: 1, totalSize: 1 };
      const results = { SendMessage: sent, ":send": sent, GetTask: done, "/tasks/t": done, ListTasks: list };
      const client = await serverOf(binding, [], { ...results, "/tasks": list });
      const answer = await client.send("x");
      expect([answer.text, answer.state]).toEqual(["all", TaskState.COMPLETED]);
      const { tasks } = await client.listTasks({});
      for (const read of [await client.getTask({ id: "t" }), ...tasks]) {
        expect(read).toMatchObject({ id: "t", status: { state: TaskState.COMPLETED } });
        expect(read.artifacts[0]?.parts[1]?.content).toEqual(contents[4]);
      }
    }
  });

  it("are no matter where the agent's own data has a kind", async () => {
    const data = { kind: "task", status: { state: "working" }, role: "user", parts: [{ kind: "file", file: {} }] };
    const status = { state: "TASK_STATE_COMPLETED" };
    const whole = { id: "t", contextId: "c", status, metadata: data, artifacts: [artifact([{ data }])] };
    const client = await serverOf(binding, [], { GetTask: whole, "/tasks/t": whole });
    const read = await client.getTask({ id: "t" });
    expect(read.metadata).toEqual(data);
    expect(JSON.stringify(read.artifacts[0]?.parts[0]?.content.value)).toContain("working");
  });
});
