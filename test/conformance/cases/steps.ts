import { call, type Step, say } from "../case.js";

/** Steps that leave a task in each final state. Its id is saved as `taskId`. */
export const ended: Readonly<Record<string, readonly Step[]>> = {
  TASK_STATE_COMPLETED: endedBy("say Done.", "TASK_STATE_COMPLETED"),
  TASK_STATE_FAILED: endedBy("fail No luck.", "TASK_STATE_FAILED"),
  TASK_STATE_REJECTED: endedBy("reject Not here.", "TASK_STATE_REJECTED"),
  TASK_STATE_CANCELED: [
    ...endedBy("ask Which one?", "TASK_STATE_INPUT_REQUIRED"),
    call("CancelTask", { id: "{taskId}" }, { message: { status: { state: "TASK_STATE_CANCELED" } } }),
  ],
};

function endedBy(text: string, state: string): readonly Step[] {
  return [asTask(text, { status: { state } })];
}

/** Sends a text and saves the id of its task as `taskId`. */
export function asTask(text: string, task: { readonly status: { readonly state: string } }): Step {
  return call("SendMessage", say(text), {
    message: { task },
    save: { taskId: "task.id", contextId: "task.contextId" },
  });
}

/** Asks a question. The task waits for the answer; `taskId` and `contextId` are saved. */
export const asked: Step = asTask("ask Which one?", { status: { state: "TASK_STATE_INPUT_REQUIRED" } });

/** Completes a task; `taskId` and `contextId` are saved. */
export const done: Step = asTask("echo done", { status: { state: "TASK_STATE_COMPLETED" } });
