import { type Artifact, type Message, type Part, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { isSend, type RelayCheckpoint, type RelayedEvent } from "../agent/delegation.js";
import type { TurnRequest } from "../agent/turn-request.js";
import { hexOf } from "../core/bytes.js";
import { isInterrupted } from "../task/state.js";

/** Identifies a delegation of a task and one turn of it. */
export interface RelayPlace {
  readonly delegation: string;
  /** Position of the message that started it. */
  readonly origin: number;
  /** Position of the message of the turn. */
  readonly turn: number;
  /** The other agent's name in the call. */
  readonly agent: string;
}

/** Relayed content of another agent's task. */
export interface Relayed {
  /** Empty before the task exists. */
  taskId: string;
  /** Context of the task; empty if unknown. */
  contextId: string;
  /** 0 if the other agent sends none, or if a snapshot was relayed partially and has to be read again. */
  generation: number;
  /** Ids of the other agent's relayed messages, and of statuses without one. */
  readonly messages: Set<string>;
  /** Relayed parts of each artifact, by its id there. */
  readonly artifacts: Map<string, Part[]>;
  /** The last relayed event. */
  last: RelayedEvent | undefined;
  /** The message that started the sub-task, if it may have been sent. */
  sent: RelayCheckpoint | undefined;
  /** The other agent's question that our task has asked, if the sub-task has had no event since. */
  asked: RelayCheckpoint | undefined;
}

/**
 * Returns the position of the message that starts new delegations of a turn: its own message, or that of the turn whose
 * question it answers.
 */
export function rootOf(events: readonly RelayedEvent[], turn: number): number {
  const last = events.findLast(({ checkpoint }) => checkpoint.turn < turn)?.checkpoint;
  return last !== undefined && isInterrupted(last.state) ? last.origin : turn;
}

/** Returns the relayed content of one delegation, from the log and the current task. */
export function relayedOf(events: readonly RelayedEvent[], task: Task | undefined, place: RelayPlace): Relayed {
  const own = events.filter(
    ({ checkpoint }) => checkpoint.origin === place.origin && checkpoint.delegation === place.delegation,
  );
  const mine = own.filter(({ checkpoint }) => !isSend(checkpoint));
  const relayed: Relayed = {
    taskId: "",
    contextId: "",
    generation: 0,
    messages: new Set(),
    artifacts: new Map(),
    last: mine.at(-1),
    sent: own.findLast(({ checkpoint }) => isSend(checkpoint))?.checkpoint,
    asked: askedIn(mine),
  };
  for (const { checkpoint } of mine) {
    if (checkpoint.taskId !== "") relayed.taskId = checkpoint.taskId;
    if (checkpoint.contextId !== "") relayed.contextId = checkpoint.contextId;
    relayed.generation = checkpoint.generation;
    if (checkpoint.messageId !== "") relayed.messages.add(checkpoint.messageId);
  }
  const prefix = artifactPrefix(place);
  for (const artifact of task?.artifacts ?? []) {
    const id = idThere(artifact, prefix);
    if (id !== undefined) relayed.artifacts.set(id, [...artifact.parts]);
  }
  return relayed;
}

function askedIn(mine: readonly RelayedEvent[]): RelayCheckpoint | undefined {
  const checkpoint = mine.findLast((event) => !isOwnPause(event))?.checkpoint;
  return checkpoint !== undefined && isInterrupted(checkpoint.state) ? checkpoint : undefined;
}

/** True for our own question for the caller's credentials: its checkpoint names no message of the other agent. */
function isOwnPause({ checkpoint: { state, messageId }, message }: RelayedEvent): boolean {
  return state === TaskState.AUTH_REQUIRED && messageId === "" && message !== undefined;
}

function idThere({ artifactId }: Artifact, prefix: string): string | undefined {
  return artifactId.startsWith(prefix) ? artifactId.slice(prefix.length) : undefined;
}

/** Returns the prefix of its artifact ids, unique among a task's delegations, since names have no slash. */
export function artifactPrefix({ origin, delegation }: RelayPlace): string {
  return `${origin}.${delegation}/`;
}

/** Names of one send to another agent: stable across reruns of its turn, and unique to it. */
export interface SendNames {
  /** The idempotency key. */
  readonly key: string;
  /** The id of the message. */
  readonly messageId: string;
}

/**
 * Derives the names from the message whose turn sends it, its task, and the delegation. Hashed, so that our ids are not
 * disclosed.
 */
export async function sendNames(
  { message, taskId }: TurnRequest,
  { delegation, origin }: RelayPlace,
  { messageId }: Pick<Message, "messageId"> = message,
): Promise<SendNames> {
  const names = JSON.stringify([taskId, messageId, origin, delegation]);
  const hash = hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(names))));
  return { key: `parley-delegation-${hash.slice(0, 32)}`, messageId: `parley-${hash.slice(32)}` };
}
