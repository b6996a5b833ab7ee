import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  type Message,
  TaskArtifactUpdateEventSchema,
  TaskSchema,
  TaskState,
  TaskStatusSchema,
  TaskStatusUpdateEventSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { StepErrorSchema, StepSchema, TurnContextSchema } from "../../../gen/parley/log/v1/log_pb.js";
import { checkedObject, InvalidAgentEvent } from "../../agent/checked-copies.js";
import type { ArtifactEvent, Content } from "../../agent/event.js";
import { agentMessage, artifactOf, type MessageContext } from "../../agent/message.js";
import type { EndedStep } from "../../agent/steps.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import { newId } from "../../core/ids.js";
import { type Draft, timestampOf } from "../../task/entry.js";
import type { TaskFold } from "../../task/fold.js";
import { addedSize } from "../../task/size.js";
import { mayFollow } from "../../task/state.js";

/**
 * Returns the entry that creates a task: SUBMITTED, with its first message (specification 4.1.3) as the last one of its
 * history.
 * @param version protocol version that creates the task; undefined for the service's own
 */
export function createdDraft(turn: TurnRequest, now: number, version?: string): Draft {
  const task = create(TaskSchema);
  task.id = turn.message.taskId;
  task.contextId = turn.message.contextId;
  task.status = create(TaskStatusSchema);
  task.status.state = TaskState.SUBMITTED;
  task.status.timestamp = timestampOf(now);
  task.history = turn.earlier === undefined ? [turn.message] : [...turn.earlier.messages, turn.message];
  const event = { case: "created", value: task } as const;
  const { traceParent } = turn;
  return { event, turn: contextOf(turn), time: now, traceParent, size: addedSize(event), version };
}

/** Returns the entry that accepts a further message. */
export function messageDraft(turn: TurnRequest, now: number): Draft {
  const event = { case: "message", value: turn.message } as const;
  return { event, turn: contextOf(turn), time: now, traceParent: turn.traceParent, size: addedSize(event) };
}

function contextOf(turn: TurnRequest): NonNullable<Draft["turn"]> {
  const context = create(TurnContextSchema);
  context.acceptedOutputModes = [...turn.acceptedOutputModes];
  context.extensions = [...turn.extensions];
  context.scopes = [...turn.caller.scopes];
  if (turn.traceState !== "") context.traceState = turn.traceState;
  if (turn.requestId !== undefined) context.requestId = turn.requestId;
  if (turn.delegationDepth !== undefined) context.delegationDepth = turn.delegationDepth;
  // Absent means the same as empty.
  for (const _ in turn.metadata) {
    context.metadata = turn.metadata;
    break;
  }
  return context;
}

/** Returns the entry of a status change. */
export function statusDraft(place: MessageContext, state: TaskState, content: Content | undefined, now: number): Draft {
  if (!mayFollow(TaskState.WORKING, state)) {
    throw new InvalidAgentEvent(`a task at work cannot go to the state ${TaskState[state] ?? state}`);
  }
  const message = content === undefined ? undefined : statusMessage(content, place);
  return statusEvent(place, { state, message }, now);
}

/**
 * Returns the entry of a change of the task's metadata.
 * @param status the present status, which it repeats
 */
export function metadataDraft(place: MessageContext, metadata: JsonObject, status: PresentStatus, now: number): Draft {
  return statusEvent(place, { ...status, metadata: checkedObject("metadata", metadata) }, now);
}

interface PresentStatus {
  readonly state: TaskState;
  readonly message?: Message | undefined;
}

function statusEvent(
  place: MessageContext,
  { state, message, metadata }: PresentStatus & { readonly metadata?: JsonObject },
  now: number,
): Draft {
  const event = create(TaskStatusUpdateEventSchema);
  event.taskId = place.taskId;
  event.contextId = place.contextId;
  event.status = create(TaskStatusSchema);
  event.status.state = state;
  event.status.timestamp = timestampOf(now);
  if (message !== undefined) event.status.message = message;
  if (metadata !== undefined) event.metadata = metadata;
  const draft = { case: "status", value: event } as const;
  return { event: draft, time: now, size: addedSize(draft) };
}

function statusMessage(content: Content, place: MessageContext): Message {
  const message = agentMessage(content, place);
  if (message.parts.length === 0) throw new InvalidAgentEvent("a message needs at least one part");
  return message;
}

/**
 * Returns the entry of a step that has just ended.
 * @param turn position of the turn's message
 */
export function stepDraft(turn: number, { started, outcome, ...step }: EndedStep, now: number): Draft {
  const value = create(StepSchema, { ...step, turn, started: timestampOf(started) });
  if ("failure" in outcome) value.outcome = { case: "error", value: create(StepErrorSchema, outcome.failure) };
  else if (outcome.json !== undefined) value.outcome = { case: "result", value: outcome.json };
  return { event: { case: "step", value }, time: now, size: 0 };
}

/** Maps artifact names to artifact ids, across the events of one task. */
export class ArtifactIds {
  readonly #byName = new Map<string, string>();
  readonly #known = new Set<string>();

  constructor(fold: TaskFold) {
    for (const { artifactId, name } of fold.task.artifacts) this.#note(artifactId, name);
  }

  /** Returns the entry of an artifact event. `append` is set only if the artifact exists (specification 4.2.2). */
  draft(event: ArtifactEvent, place: MessageContext, now: number): Draft {
    const name = event.name ?? "";
    const artifactId = event.id || (event.append ? this.#byName.get(name) : undefined) || newId();
    const update = create(TaskArtifactUpdateEventSchema);
    update.taskId = place.taskId;
    update.contextId = place.contextId;
    update.artifact = artifactOf(event, artifactId);
    if (update.artifact.parts.length === 0)
      throw new InvalidAgentEvent("an artifact needs at least one part, as text, data or parts");
    update.append = event.append === true && this.#known.has(artifactId);
    update.lastChunk = event.lastChunk === true;
    this.#note(artifactId, name);
    const draft = { case: "artifact", value: update } as const;
    return { event: draft, time: now, size: addedSize(draft) };
  }

  #note(artifactId: string, name: string): void {
    this.#known.add(artifactId);
    this.#byName.set(name, artifactId);
  }
}
