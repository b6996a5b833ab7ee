import { type Message, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { SubTask } from "../agent/delegation.js";
import { textOf } from "../agent/message.js";

/** What became of a sub-task, as its author gets it. */
export function subTaskOf(
  agent: string,
  { task, message }: { readonly task?: Task | undefined; readonly message?: Message | undefined },
): SubTask {
  if (task === undefined) {
    const text = message === undefined ? "" : textOf(message);
    const state = message === undefined ? TaskState.UNSPECIFIED : TaskState.COMPLETED;
    return { agent, task: undefined, message, state, text };
  }
  const { status, artifacts } = task;
  const texts = artifacts.map(({ parts }) =>
    parts.map(({ content }) => (content.case === "text" ? content.value : "")).join(""),
  );
  const made = texts.filter((text) => text !== "").join("\n");
  const said = status?.message === undefined ? "" : textOf(status.message);
  return { agent, task, message: undefined, state: status?.state ?? TaskState.UNSPECIFIED, text: made || said };
}
