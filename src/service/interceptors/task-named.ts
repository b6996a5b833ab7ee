import type { Message } from "@bufbuild/protobuf";
import type { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";

/** The fields of requests, answers and stream events that can name the task of a call. */
export interface OfTask extends Message {
  readonly id?: unknown;
  readonly taskId?: unknown;
  readonly message?: OfTask;
  readonly status?: { readonly state?: TaskState };
  readonly payload?: { readonly value?: OfTask };
}

/**
 * Returns the task's id, which requests and tasks have as `id` or `taskId`, and sends in their message. Undefined for a
 * direct message.
 */
export function taskNamedBy({ id, taskId, message }: OfTask): string | undefined {
  const found = taskId ?? message?.taskId ?? id;
  return typeof found === "string" && found !== "" ? found : undefined;
}
