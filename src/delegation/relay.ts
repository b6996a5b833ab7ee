import { equals } from "@bufbuild/protobuf";
import {
  type Artifact,
  type Message,
  MessageSchema,
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
  type RelayCheckpoint,
  type RelayedTask,
  relayCheckpoint,
  type SubTask,
} from "../agent/delegation.js";
import { type AgentEvent, artifact, type MessageContent, type PartInput, working } from "../agent/event.js";
import { membersOf } from "../core/members.js";
import { readable, readableTask, textOf } from "../task/plain.js";
import { isInterrupted } from "../task/state.js";
import { jsonOf } from "../wire/json-value.js";
import { DELEGATION_EXTENSION } from "../wire/service-params.js";
import type { SubTaskMessage } from "./client.js";
import { artifactPrefix, type Relayed, type RelayPlace } from "./relayed.js";

/** Maximum number of parts in an event created from a snapshot, whose artifacts may have any number. */
const PARTS_AT_ONCE = 500;

/** An event of our task that comes from another one. */
export type RelayedAgentEvent = AgentEvent & RelayedTask & { readonly [relayCheckpoint]: RelayCheckpoint };

/** Target of an artifact's chunk. */
interface ChunkPlace {
  /** The parts that it is appended to; undefined if it creates or replaces the artifact. */
  readonly known: Part[] | undefined;
  readonly lastChunk: boolean;
  readonly generation: number;
}

/**
 * Converts another agent's events to events of our task, each with its origin, so that the stored events record the
 * relay's progress. Repeated input is relayed only once:
 *
 * - if the other agent sends generations, an event of a known generation is dropped;
 * - a snapshot contributes only new content: messages by their ids, artifacts by their parts.
 *
 * The result depends only on the input and earlier results, which have to be yielded in order.
 */
export class Relay {
  readonly #place: RelayPlace;
  readonly #have: Relayed;
  readonly #prefix: string;
  readonly #hidesArtifacts: boolean;
  /** Name of the other agent for clients. */
  #agentName: string;

  /**
   * @param have content relayed so far; updated here
   * @param hidesArtifacts true if artifacts are not relayed
   */
  constructor(place: RelayPlace, have: Relayed, hidesArtifacts = false) {
    this.#place = place;
    this.#have = have;
    this.#prefix = artifactPrefix(place);
    this.#hidesArtifacts = hidesArtifacts;
    this.#agentName = place.agent;
  }

  /** Names the other agent for clients. Default: as in the call. */
  nameAgent(name: string): void {
    this.#agentName = name;
  }

  /** Relays the start of the other task: its existence comes first, so that it is found after a crash. */
  begin(task: Task, generation?: number): RelayedAgentEvent[] {
    const before = this.#have.generation;
    this.#have.taskId = task.id;
    this.#have.contextId = task.contextId;
    const events = this.snapshot(task, generation);
    const reachedGeneration = events.length === 0 ? this.#have.generation : before;
    return [reached(this.#marked(working(), {}), reachedGeneration), ...events];
  }

  /** Relays an event of the other task; undefined if nothing is new. */
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

  /** Relays the new content of a snapshot. */
  snapshot(task: Task, generation = 0): RelayedAgentEvent[] {
    if (generation !== 0 && generation <= this.#have.generation) return [];
    this.#have.generation = generation;
    const events: RelayedAgentEvent[] = [];
    const add = (event: RelayedAgentEvent | undefined): void => void (event && events.push(event));
    for (const message of task.history) {
      if (message.role === Role.AGENT) add(this.#message(message));
    }
    if (!this.#hidesArtifacts) for (const each of task.artifacts) events.push(...this.#reconcile(each));
    add(this.#status(task.status, 0));
    // Until all of it is stored, our task has not reached the generation.
    return events.map((event, at) => reached(event, at < events.length - 1 ? 0 : generation));
  }

  /** Current progress of the relay. */
  get checkpoint(): RelayCheckpoint {
    return this.#marked(working(), {})[relayCheckpoint];
  }

  /** Relays the direct reply of an agent without a task. */
  answer(message: Message): RelayedAgentEvent {
    const messageId = message.messageId || "message";
    this.#have.contextId = message.contextId;
    return this.#marked(working(this.contentOf(message)), { messageId, state: TaskState.COMPLETED });
  }

  /**
   * Returns an event that pauses our task without a new question of the other agent: it was not called yet, or has
   * asked before.
   */
  pause(event: AgentEvent, state: TaskState, messageId = ""): RelayedAgentEvent {
    return this.#marked(event, { state, messageId });
  }

  #status(status: TaskStatus | undefined, generation: number): RelayedAgentEvent | undefined {
    if (status === undefined) return undefined;
    const { state, message } = status;
    const messageId = statusId(status);
    // A message that comes again with a later generation belongs to a change of the other task's metadata.
    if ((generation === 0 || message !== undefined) && this.#have.messages.has(messageId)) return undefined;
    const content = message && this.contentOf(message);
    if (!isInterrupted(state) && content === undefined) return undefined;
    if (messageId !== "") this.#have.messages.add(messageId);
    const event: AgentEvent = isInterrupted(state) ? { kind: "status", state, content } : working(content);
    return this.#marked(event, { messageId, state, generation });
  }

  #message(message: Message): RelayedAgentEvent | undefined {
    const { messageId } = message;
    const content = this.contentOf(message);
    if (this.#have.messages.has(messageId) || content === undefined) return undefined;
    this.#have.messages.add(messageId);
    return this.#marked(working(content), { messageId });
  }

  #artifact(event: TaskArtifactUpdateEvent, generation: number): RelayedAgentEvent | undefined {
    const { artifact: chunk, append, lastChunk } = event;
    // Our log does not store a chunk without parts.
    if (chunk === undefined || chunk.parts.length === 0 || this.#hidesArtifacts) return undefined;
    const known = append ? this.#have.artifacts.get(chunk.artifactId) : undefined;
    return this.#chunk(chunk, { known, lastChunk, generation });
  }

  /** Relays the parts that an artifact has gained; all of it if ours is not its beginning. */
  #reconcile(artifact: Artifact): RelayedAgentEvent[] {
    const known = this.#have.artifacts.get(artifact.artifactId);
    const rest = known === undefined ? undefined : restOf(known, artifact.parts);
    const parts = rest ?? artifact.parts;
    const events: RelayedAgentEvent[] = [];
    for (let at = 0; at < parts.length; at += PARTS_AT_ONCE) {
      const chunk = { ...artifact, parts: parts.slice(at, at + PARTS_AT_ONCE) };
      const isFirst = rest === undefined && at === 0;
      const known = isFirst ? undefined : this.#have.artifacts.get(artifact.artifactId);
      events.push(this.#chunk(chunk, { known, lastChunk: false, generation: 0 }));
    }
    return events;
  }

  #chunk(chunk: Artifact, { known, lastChunk, generation }: ChunkPlace): RelayedAgentEvent {
    if (known === undefined) this.#have.artifacts.set(chunk.artifactId, [...chunk.parts]);
    else for (const part of chunk.parts) known.push(part);
    const { artifactId, name, description } = chunk;
    // The artifact keeps the metadata and extensions of its first chunk.
    const { metadata, extensions } = known === undefined ? this.#withOrigin(chunk) : chunk;
    const event = artifact({
      id: `${this.#prefix}${artifactId}`,
      ...(name !== "" && { name }),
      ...(description !== "" && { description }),
      parts: chunk.parts.map(partInput),
      ...(known !== undefined && { append: true }),
      ...(lastChunk && { lastChunk }),
      ...(metadata !== undefined && { metadata }),
      ...(extensions.length > 0 && { extensions }),
    });
    return this.#marked(event, { generation });
  }

  /** Converts a message of the other agent to an author's content; undefined if it is empty. */
  contentOf(message: Message): MessageContent | undefined {
    return authorContent({ ...message, ...this.#withOrigin(message) });
  }

  /** Adds the origin of a message or artifact to its metadata. */
  #withOrigin({ metadata, extensions }: Pick<Message, "metadata" | "extensions">) {
    const before = metadata?.[DELEGATION_EXTENSION];
    const { taskId } = this.#have;
    const origin = {
      agent: this.#agentName,
      ...(taskId !== "" && { taskId }),
      ...(before !== undefined && { origin: before }),
    };
    return {
      metadata: { ...metadata, [DELEGATION_EXTENSION]: origin },
      extensions: [...new Set([...extensions, DELEGATION_EXTENSION])],
    };
  }

  #marked(event: AgentEvent, checkpoint: Partial<RelayCheckpoint>): RelayedAgentEvent {
    const { delegation, origin, turn, agent } = this.#place;
    const generation = Math.max(this.#have.generation, checkpoint.generation ?? 0);
    this.#have.generation = generation;
    return {
      ...event,
      [relayCheckpoint]: {
        delegation,
        origin,
        turn,
        agent,
        taskId: this.#have.taskId,
        contextId: this.#have.contextId,
        messageId: checkpoint.messageId ?? "",
        state: checkpoint.state ?? TaskState.UNSPECIFIED,
        generation,
      },
    };
  }
}

function reached(event: RelayedAgentEvent, generation: number): RelayedAgentEvent {
  return { ...event, [relayCheckpoint]: { ...event[relayCheckpoint], generation } };
}

/** Identifies a status: by the id of its message, or else by its time. */
export function statusId({ message, state, timestamp }: TaskStatus): string {
  if (message !== undefined && message.messageId !== "") return message.messageId;
  return timestamp === undefined ? "" : `${state}@${timestamp.seconds}.${timestamp.nanos}`;
}

/**
 * Returns the parts after those already known; undefined if they do not begin with them. Servers may join chunked
 * texts.
 */
export function restOf(known: readonly Part[], parts: readonly Part[]): readonly Part[] | undefined {
  let same = 0;
  while (same < known.length && isSamePart(known[same], parts[same])) same++;
  if (same === known.length) return parts.slice(same);
  const ours = joinedText(known.slice(same));
  const theirs = joinedText(parts.slice(same));
  const first = parts[same];
  if (ours === undefined || theirs === undefined || first === undefined || !theirs.startsWith(ours)) return undefined;
  const more = theirs.slice(ours.length);
  return more === "" ? [] : [{ ...first, content: { case: "text", value: more } }];
}

function isSamePart(one: Part | undefined, other: Part | undefined): boolean {
  return one !== undefined && other !== undefined && equals(PartSchema, one, other);
}

/** Returns the joined text of parts that contain only text of one kind; undefined for others. */
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

/** Converts a message to an author's content; undefined if it is empty. */
function authorContent({
  parts,
  metadata,
  extensions,
}: Pick<Message, "parts" | "metadata" | "extensions">): MessageContent | undefined {
  if (parts.length === 0) return undefined;
  return {
    parts: parts.map(partInput),
    ...(metadata !== undefined && { metadata }),
    ...(extensions.length > 0 && { extensions }),
  };
}

function partInput({ content, mediaType, filename, metadata }: Part): PartInput {
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
      // A part of a kind unknown to this version.
      return { text: "", ...more };
  }
}

/** Converts the content of a delegation to a message to another agent. */
export function inputOf(content: DelegatedContent): Omit<SubTaskMessage, "messageId"> {
  if (typeof content === "string") return { parts: [{ text: content }] };
  if (Array.isArray(content)) return { parts: content };
  if (isMessage(content)) return authorContent(content) ?? { parts: [] };
  return content as MessageContent;
}

function isMessage(content: DelegatedContent): content is Message {
  return membersOf(content).$typeName === MessageSchema.typeName && membersOf(content).role !== Role.UNSPECIFIED;
}

/** Returns the result of a sub-task for its author. */
export function subTaskOf(
  agent: string,
  { task, message }: { readonly task?: Task | undefined; readonly message?: Message | undefined },
): SubTask {
  const state = task === undefined ? message && TaskState.COMPLETED : task.status?.state;
  return {
    agent,
    task: task && readableTask(task),
    message: message && readable(message),
    state: state ?? TaskState.UNSPECIFIED,
    text: textOf(task ?? message),
  };
}
