import type { JsonObject } from "@bufbuild/protobuf";
import type { RemoteAgent, RemoteUpdate } from "../agent/delegation.js";
import type { PartInput } from "../task/part-input.js";

/** How one call of another agent is made. */
export interface RemoteCallOptions {
  readonly signal: AbortSignal;
  readonly headers: Headers;
}

/** How a sub-task is sent. */
export interface SubTaskSend extends RemoteCallOptions {
  readonly idempotencyKey: string;
  readonly acceptedOutputModes: readonly string[];
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

/** What a delegation needs of the client of another agent, which all turns share. */
export interface SubTaskClient extends RemoteAgent {
  /** As `stream`, for a sub-task. */
  begin(message: SubTaskMessage, options: SubTaskSend): AsyncIterable<RemoteUpdate>;
  /** As `follow`. @param after what was told up to this generation is known; 0 for nothing */
  goOn(taskId: string, after: number, options: RemoteCallOptions): AsyncIterable<RemoteUpdate>;
  close(): Promise<void>;
}
