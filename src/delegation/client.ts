import type { JsonObject } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import type { A2AService, AgentCard, Message, StreamResponse, Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
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

/** One step of a stream, as the client tells it. */
export interface SubTaskUpdate {
  readonly kind: "task" | "status" | "artifact" | "message" | "snapshot";
  /** As it stands with this step. */
  readonly task: Task | undefined;
  readonly message: Message | undefined;
  readonly event: StreamResponse | undefined;
  readonly generation: number | undefined;
}

/** What a delegation needs of the client of another agent: a part of what `connect` makes. */
export interface SubTaskClient extends Client<typeof A2AService> {
  readonly card: AgentCard;
  stream(message: SubTaskMessage, options: SubTaskSend): AsyncIterable<SubTaskUpdate>;
  /** @param options `afterGeneration`: what was told up to there is known; 0 for nothing */
  follow(
    taskId: string,
    options: RemoteCallOptions & { readonly afterGeneration?: number },
  ): AsyncIterable<SubTaskUpdate>;
  close(): Promise<void>;
}
