import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AError } from "../../src/core/error.js";
import { cardJson, serveCards } from "./card-server.js";
import { serverOf } from "./scripted.js";
import { connect } from "./world.js";

const place = { taskId: "t", contextId: "c" };
const status = (state: string, of = place) => ({ statusUpdate: { ...of, status: { state: `TASK_STATE_${state}` } } });
const piece = (text: string, of = place) => ({
  artifactUpdate: { ...of, artifact: { artifactId: "a", parts: [{ text }] } },
});
const whole = (state: string, more: object = {}) => ({
  task: { id: "t", contextId: "c", status: { state: `TASK_STATE_${state}` }, ...more },
});
const other = { taskId: "other", contextId: "c" };

async function followed(binding: string, events: readonly unknown[], read?: unknown) {
  const results = read === undefined ? {} : { GetTask: read, "/tasks/t": read };
  const client = await serverOf(binding, events, results);
  const seen: { text: string; state: TaskState | undefined; error?: A2AError } = { text: "", state: undefined };
  try {
    for await (const { text, task } of client.stream("x")) {
      seen.text += text;
      seen.state = task?.status?.state;
    }
  } catch (error) {
    seen.error = error as A2AError;
  }
  return seen;
}

describe.each(["JSONRPC", "HTTP+JSON"])("a stream of one task over %s", (binding) => {
  it.each([
    ["fails", undefined],
    ["is no task", { nothing: true }],
    ["is another task", whole("COMPLETED", { id: "other" }).task],
  ])("ends as it has told where the task is read in the end, and that %s", async (_, read) => {
    // The stream does not begin with the task, so it may be incomplete.
    const events = [status("WORKING"), piece("all"), status("COMPLETED")];
    expect(await followed(binding, events, read)).toEqual({ text: "all", state: TaskState.COMPLETED });
  });

  it("has what the stream did not tell, where the task is read in the end", async () => {
    const artifacts = [{ artifactId: "a", parts: [{ text: "all and more" }] }];
    const read = whole("COMPLETED", { artifacts }).task;
    const events = [status("WORKING"), piece("all"), status("COMPLETED")];
    expect(await followed(binding, events, read)).toEqual({ text: "all and more", state: TaskState.COMPLETED });
  });

  it.each([
    ["status", status("COMPLETED", other)],
    ["artifact", piece("not ours", other)],
    ["task", { task: { ...whole("COMPLETED").task, id: "other" } }],
  ])("fails where it tells a %s of another task, and takes nothing of that", async (_, foreign) => {
    const seen = await followed(binding, [whole("WORKING"), piece("ours"), foreign, status("COMPLETED")]);
    expect(seen).toMatchObject({ text: "ours", state: TaskState.WORKING, error: { reason: "INVALID_AGENT_RESPONSE" } });
    expect(seen.error?.message).toMatch(/sent an event of task other while task t was followed/);
  });

  it("takes events that leave the id of their task out", async () => {
    const none = { taskId: "", contextId: "" };
    const events = [whole("WORKING"), piece("ours", none), status("COMPLETED", none)];
    expect(await followed(binding, events)).toEqual({ text: "ours", state: TaskState.COMPLETED });
  });
});

describe("a stream that does not end with its task", () => {
  it("ends within a short time, also if further events keep it busy", async () => {
    const { url } = await serveCards((_request, response) => {
      const write = (event: object): void => void response.write(`data: ${JSON.stringify(event)}\n\n`);
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const event of [whole("WORKING"), status("COMPLETED")]) write(event);
      const timer = setInterval(() => write(status("WORKING")), 20);
      response.on("close", () => clearInterval(timer));
    });
    const supportedInterfaces = [{ url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }];
    const client = await connect(cardJson({ supportedInterfaces, capabilities: { streaming: true } }));
    const states: (TaskState | undefined)[] = [];
    for await (const { task } of client.stream("x")) states.push(task?.status?.state);
    expect(states).toEqual([TaskState.WORKING, TaskState.COMPLETED]);
  });
});

describe.each(["JSONRPC", "HTTP+JSON"])("getTask() and cancelTask() over %s", (binding) => {
  it.each([
    ["no task", {}],
    ["a task in an envelope", whole("COMPLETED")],
    ["another task", whole("COMPLETED", { id: "other" }).task],
  ])("reject %s", async (_, answer) => {
    const names = ["GetTask", "CancelTask", "/tasks/t"];
    const client = await serverOf(binding, [], Object.fromEntries(names.map((name) => [name, answer])));
    const error = { reason: "INVALID_AGENT_RESPONSE", message: "The answer is not the task t." };
    await expect(client.getTask({ id: "t" })).rejects.toMatchObject(error);
    await expect(client.cancelTask({ id: "t" })).rejects.toMatchObject(error);
  });
});
