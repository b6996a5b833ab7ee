import type { JsonObject } from "@bufbuild/protobuf";
import type { RemoteAgent } from "../agent/delegation.js";
import type { Update } from "../task/answer.js";
import type { PartInput } from "../task/message-input.js";

/** Options of one call of another agent. */
export interface RemoteCallOptions {
  readonly signal: AbortSignal;
  readonly headers: Headers;
}

/** Options of sending a sub-task. */
interface SubTaskSend extends RemoteCallOptions {
  readonly idempotencyKey: string;
  readonly acceptedOutputModes: readonly string[];
  readonly metadata?: JsonObject;
}

/** A message to another agent. */
export interface SubTaskMessage {
  readonly parts: readonly PartInput[];
  readonly metadata?: JsonObject;
  readonly extensions?: readonly string[];
  readonly messageId: string;
  readonly contextId?: string;
  readonly taskId?: string;
}

/** The client of another agent that a delegation needs, shared by all turns. */
export interface SubTaskClient extends RemoteAgent {
  /** Like `stream`, for a sub-task. */
  begin(message: SubTaskMessage, options: SubTaskSend): AsyncIterable<Update>;
  /** Like `follow`. @param after generation up to which the events are known; 0 for none */
  resume(taskId: string, after: number, options: RemoteCallOptions): AsyncIterable<Update>;
  close(): Promise<void>;
}
