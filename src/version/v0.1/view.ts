import { create } from "@bufbuild/protobuf";
import {
  type Artifact,
  MessageSchema,
  PartSchema,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskArtifactUpdateEventSchema,
  TaskState,
  type TaskStatus,
  type TaskStatusUpdateEvent,
  TaskStatusUpdateEventSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { newId } from "../../core/ids.js";
import { mark } from "../../wire/marks.js";
import { sharedCopy } from "../../wire/serialization-cache.js";

/**
 * Returns a task in the form of 0.1: artifacts have an index, and a rejection, which 0.1 reports as a failure, says so
 * in its message. The log and every fold of it keep the order of artifacts, so readers can share the marks.
 */
export function shownTask(task: Task): Task {
  for (const [index, artifact] of task.artifacts.entries()) mark(artifact, { index });
  const status = shownStatus(task.status);
  return status === task.status ? task : sharedCopy(task, { status });
}

/** Returns the task without its messages. */
export function withoutHistory(task: Task): Task {
  return task.history.length === 0 ? task : sharedCopy(task, { history: [] });
}

function shownStatus(status: TaskStatus | undefined): TaskStatus | undefined {
  if (status?.state !== TaskState.REJECTED || status.message !== undefined) return status;
  const text = create(PartSchema, { content: { case: "text", value: "rejected" } });
  return { ...status, message: create(MessageSchema, { messageId: newId(), role: Role.AGENT, parts: [text] }) };
}

/** The contents of an event, from any message. */
interface StatusParts {
  readonly taskId: string;
  readonly status: TaskStatus | undefined;
  readonly metadata?: TaskStatusUpdateEvent["metadata"] | undefined;
  /** True for the last event of its stream. Default: according to its state. */
  readonly isLast?: boolean;
}

interface ArtifactParts {
  readonly taskId: string;
  readonly append: boolean;
  readonly lastChunk: boolean;
  readonly metadata?: TaskArtifactUpdateEvent["metadata"] | undefined;
}

/** Creates a status event that no other reader shares. */
export function statusEvent(of: StatusParts): StreamResponse {
  const event = create(TaskStatusUpdateEventSchema);
  event.taskId = of.taskId;
  const status = shownStatus(of.status);
  if (status !== undefined) event.status = status;
  if (of.metadata !== undefined) event.metadata = of.metadata;
  if (of.isLast !== undefined) mark(event, { isLast: of.isLast });
  const response = create(StreamResponseSchema);
  response.payload = { case: "statusUpdate", value: event };
  return response;
}

/** Creates an event with an artifact, or a chunk of one, and its index. */
export function artifactEvent(of: ArtifactParts, artifact: Artifact, index: number): StreamResponse {
  const event = create(TaskArtifactUpdateEventSchema);
  event.taskId = of.taskId;
  event.artifact = mark(artifact, { index });
  event.append = of.append;
  event.lastChunk = of.lastChunk;
  if (of.metadata !== undefined) event.metadata = of.metadata;
  const response = create(StreamResponseSchema);
  response.payload = { case: "artifactUpdate", value: event };
  return response;
}
