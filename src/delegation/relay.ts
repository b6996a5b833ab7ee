import { equals } from "@bufbuild/protobuf";
import {
  type Artifact,
  type Message,
  type Part,
  PartSchema,
  Role,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
  TaskState,
  type TaskStatus,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import {
  type DelegatedContent,
  type Relayed as Marked,
  type RelayMark,
  relayMark,
  type SubTask,
} from "../agent/delegation.js";
import { type AgentEvent, artifact, type MessageContent, type PartInput, working } from "../agent/event.js";
import { textOf } from "../agent/message.js";
import { isInterrupted } from "../task/state.js";
import { jsonOf } from "../wire/json-value.js";
import type { SubTaskMessage } from "./client.js";
import { artifactPrefix, type Relayed, type RelayPlace } from "./marks.js";

/** Parts of one event that are made of a task as it stands, whose artifacts may have any number. */
const PARTS_AT_ONCE = 500;

/** An event of our task that comes from another one. */
export type RelayedAgentEvent = AgentEvent & Marked & { readonly [relayMark]: RelayMark };

/** Where a piece of an artifact goes. */
interface PiecePlace {
  /** What it is appended to; undefined where it begins the artifact, or replaces it. */
  readonly known: Part[] | undefined;
  readonly lastChunk: boolean;
  readonly generation: number;
}

/**
 * Makes events of our task of what another agent's task tells, each with the place that it comes from, so that what is stored says how
 * far the relay came. Nothing is relayed twice, whatever comes again:
 *
 * - where the other agent tells generations, an event whose generation was reached is left out;
 * - of a task as it stands (`snapshot`) comes what our task does not have yet: messages by their ids, artifacts by their parts.
 *
 * It only looks at its input and at what it has made before; what it makes has to be yielded in order.
 */
export class Relay {
  readonly #place: RelayPlace;
  readonly #have: Relayed;
  readonly #prefix: string;

  /** @param have what our task has; it is kept up to date */
  constructor(place: RelayPlace, have: Relayed) {
    this.#place = place;
    this.#have = have;
    this.#prefix = artifactPrefix(place);
  }

  /** The other task as it is seen first: that there is one comes before all else, so that it is found after a crash. */
  begin(task: Task, generation?: number): RelayedAgentEvent[] {
    const before = this.#have.generation;
    this.#have.taskId = task.id;
    const events = this.snapshot(task, generation);
    const reachedGeneration = events.length === 0 ? this.#have.generation : before;
    return [reached(this.#marked(working(), {}), reachedGeneration), ...events];
  }

  /** An event of the other task; undefined where there is nothing to relay. */
  event({ payload }: StreamResponse, generation = 0): RelayedAgentEvent | undefined {
    if (generation !== 0 && generation <= this.#have.generation) return undefined;
    switch (payload.case) {
      case "statusUpdate":
        return this.#status(payload.value.status, generation);
      case "artifactUpdate":
        return this.#artifact(payload.value, generation);
      default:
        return undefined;
    }
  }

  /** The other task as it stands: what our task does not have of it. */
  snapshot(task: Task, generation = 0): RelayedAgentEvent[] {
    if (generation !== 0 && generation <= this.#have.generation) return [];
    this.#have.generation = generation;
    const events: RelayedAgentEvent[] = [];
    const add = (event: RelayedAgentEvent | undefined): void => void (event && events.push(event));
    for (const message of task.history) {
      if (message.role === Role.AGENT) add(this.#message(message));
    }
    for (const each of task.artifacts) events.push(...this.#reconcile(each));
    add(this.#status(task.status, 0));
    // As long as not all of it is stored, our task has not come to any generation.
    return events.map((event, at) => reached(event, at < events.length - 1 ? 0 : generation));
  }

  /** The place that the relay has come to. */
  get mark(): RelayMark {
    return this.#marked(working(), {})[relayMark];
  }

  /** The direct answer of an agent that made no task. */
  answer(message: Message): RelayedAgentEvent {
    const messageId = message.messageId || "message";
    return this.#marked(working(contentOf(message)), { messageId, state: TaskState.COMPLETED });
  }

  /** Says that our task waits although the other one has nothing new to ask: it does not know of us yet, or has asked before. */
  pause(event: AgentEvent, state: TaskState, messageId = ""): RelayedAgentEvent {
    return this.#marked(event, { state, messageId });
  }

  #status(status: TaskStatus | undefined, generation: number): RelayedAgentEvent | undefined {
    if (status === undefined) return undefined;
    const { state, message } = status;
    const messageId = statusId(status);
    if (generation === 0 && this.#have.messages.has(messageId)) return undefined;
    const content = message && contentOf(message);
    if (!isInterrupted(state) && content === undefined) return undefined;
    if (messageId !== "") this.#have.messages.add(messageId);
    const event: AgentEvent = isInterrupted(state) ? { kind: "status", state, content } : working(content);
    return this.#marked(event, { messageId, state, generation });
  }

  #message(message: Message): RelayedAgentEvent | undefined {
    const { messageId } = message;
    const content = contentOf(message);
    if (this.#have.messages.has(messageId) || content === undefined) return undefined;
    this.#have.messages.add(messageId);
    return this.#marked(working(content), { messageId });
  }

  #artifact(event: TaskArtifactUpdateEvent, generation: number): RelayedAgentEvent | undefined {
    const { artifact: piece, append, lastChunk } = event;
    // A piece without parts has no place in our log.
    if (piece === undefined || piece.parts.length === 0) return undefined;
    const known = append ? this.#have.artifacts.get(piece.artifactId) : undefined;
    return this.#piece(piece, { known, lastChunk, generation });
  }

  /** What an artifact as it stands has beyond ours; all of it where ours is no beginning of it. */
  #reconcile(artifact: Artifact): RelayedAgentEvent[] {
    const known = this.#have.artifacts.get(artifact.artifactId);
    const rest = known === undefined ? undefined : restOf(known, artifact.parts);
    const parts = rest ?? artifact.parts;
    const events: RelayedAgentEvent[] = [];
    for (let at = 0; at < parts.length; at += PARTS_AT_ONCE) {
      const piece = { ...artifact, parts: parts.slice(at, at + PARTS_AT_ONCE) };
      const isFirst = rest === undefined && at === 0;
      const known = isFirst ? undefined : this.#have.artifacts.get(artifact.artifactId);
      events.push(this.#piece(piece, { known, lastChunk: false, generation: 0 }));
    }
    return events;
  }

  #piece(piece: Artifact, { known, lastChunk, generation }: PiecePlace): RelayedAgentEvent {
    if (known === undefined) this.#have.artifacts.set(piece.artifactId, [...piece.parts]);
    else for (const part of piece.parts) known.push(part);
    const { artifactId, name, description, metadata, extensions } = piece;
    const event = artifact({
      id: `${this.#prefix}${artifactId}`,
      ...(name !== "" && { name }),
      ...(description !== "" && { description }),
      parts: piece.parts.map(partOf),
      ...(known !== undefined && { append: true }),
      ...(lastChunk && { lastChunk }),
      ...(metadata !== undefined && { metadata }),
      ...(extensions.length > 0 && { extensions }),
    });
    return this.#marked(event, { generation });
  }

  #marked(event: AgentEvent, mark: Partial<RelayMark>): RelayedAgentEvent {
    const { delegation, origin, turn, agent } = this.#place;
    const generation = Math.max(this.#have.generation, mark.generation ?? 0);
    this.#have.generation = generation;
    return {
      ...event,
      [relayMark]: {
        delegation,
        origin,
        turn,
        agent,
        taskId: this.#have.taskId,
        messageId: mark.messageId ?? "",
        state: mark.state ?? TaskState.UNSPECIFIED,
        generation,
      },
    };
  }
}

function reached(event: RelayedAgentEvent, generation: number): RelayedAgentEvent {
  return { ...event, [relayMark]: { ...event[relayMark], generation } };
}

/** What tells a status from others: the id of its message, or else its time. */
export function statusId({ message, state, timestamp }: TaskStatus): string {
  if (message !== undefined && message.messageId !== "") return message.messageId;
  return timestamp === undefined ? "" : `${state}@${timestamp.seconds}.${timestamp.nanos}`;
}

/** What parts have beyond others that they begin with; undefined where they do not. Servers may join texts that came in pieces. */
export function restOf(known: readonly Part[], parts: readonly Part[]): readonly Part[] | undefined {
  let same = 0;
  while (same < known.length && isSame(known[same], parts[same])) same++;
  if (same === known.length) return parts.slice(same);
  const ours = joinedText(known.slice(same));
  const theirs = joinedText(parts.slice(same));
  const first = parts[same];
  if (ours === undefined || theirs === undefined || first === undefined || !theirs.startsWith(ours)) return undefined;
  const more = theirs.slice(ours.length);
  return more === "" ? [] : [{ ...first, content: { case: "text", value: more } }];
}

function isSame(one: Part | undefined, other: Part | undefined): boolean {
  return one !== undefined && other !== undefined && equals(PartSchema, one, other);
}

/** The text of parts that are nothing but text, and of one kind; undefined for others. */
function joinedText(parts: readonly Part[]): string | undefined {
  const { mediaType, filename } = parts[0] ?? {};
  let text = "";
  for (const part of parts) {
    const isPlain = part.content.case === "text" && part.metadata === undefined;
    if (!isPlain || part.mediaType !== mediaType || part.filename !== filename) return undefined;
    text += part.content.value;
  }
  return text;
}

/** A message as an author would write its content; undefined where it says nothing. */
export function contentOf({ parts, metadata, extensions }: Message): MessageContent | undefined {
  if (parts.length === 0) return undefined;
  return {
    parts: parts.map(partOf),
    ...(metadata !== undefined && { metadata }),
    ...(extensions.length > 0 && { extensions }),
  };
}

function partOf({ content, mediaType, filename, metadata }: Part): PartInput {
  const more = {
    ...(mediaType !== "" && { mediaType }),
    ...(filename !== "" && { filename }),
    ...(metadata !== undefined && { metadata }),
  };
  switch (content.case) {
    case "text":
      return { text: content.value, ...more };
    case "raw":
      return { raw: content.value, ...more };
    case "url":
      return { url: content.value, ...more };
    case "data":
      return { data: jsonOf(content.value), ...more };
    default:
      // A part of a kind that this version does not know.
      return { text: "", ...more };
  }
}

/** The content of a delegation as a message to another agent. */
export function inputOf(content: DelegatedContent): Omit<SubTaskMessage, "messageId"> {
  if (typeof content === "string") return { parts: [{ text: content }] };
  if (Array.isArray(content)) return { parts: content };
  if (isMessage(content)) return contentOf(content) ?? { parts: [] };
  return content as MessageContent;
}

function isMessage(content: DelegatedContent): content is Message {
  return (
    (content as Partial<Message>).$typeName === "lf.a2a.v1.Message" && (content as Message).role !== Role.UNSPECIFIED
  );
}

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
