import { type Artifact, type Message, type Part, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { isSend, type RelayedEvent, type RelayMark } from "../agent/delegation.js";
import type { TurnRequest } from "../agent/turn-request.js";
import { hexOf } from "../core/bytes.js";
import { isInterrupted } from "../task/state.js";

/** Which delegation of which task, and in which turn of it. */
export interface RelayPlace {
  readonly delegation: string;
  /** Position of the message that began it. */
  readonly origin: number;
  /** Position of the message whose turn it is. */
  readonly turn: number;
  /** The other agent, as it was named. */
  readonly agent: string;
}

/** What a task has of another agent's task. */
export interface Relayed {
  /** Empty as long as there is none. */
  taskId: string;
  /** 0 where the other agent tells none, or a task as it stood was relayed in part: it is read anew then. */
  generation: number;
  /** Messages of the other agent that were relayed, by their id, and statuses without one. */
  readonly messages: Set<string>;
  /** Parts that were relayed of each artifact, by its id there. */
  readonly artifacts: Map<string, Part[]>;
  /** What was relayed last. */
  last: RelayedEvent | undefined;
  /** The message that went to the other agent to begin the sub-task, where that may have happened. */
  sent: RelayMark | undefined;
  /** The other agent's question that our task has asked, when nothing of the sub-task came after it. */
  asked: RelayMark | undefined;
}

/** The message that begins the delegations of a turn which are not gone on with: its own, or that of the turn whose question it answers. */
export function rootOf(events: readonly RelayedEvent[], turn: number): number {
  const last = events.findLast(({ mark }) => mark.turn < turn)?.mark;
  return last !== undefined && isInterrupted(last.state) ? last.origin : turn;
}

/** What the log of a task, and the task as it stands with it, have of one delegation. */
export function relayedOf(events: readonly RelayedEvent[], task: Task | undefined, place: RelayPlace): Relayed {
  const own = events.filter(({ mark }) => mark.origin === place.origin && mark.delegation === place.delegation);
  const mine = own.filter(({ mark }) => !isSend(mark));
  const relayed: Relayed = {
    taskId: "",
    generation: 0,
    messages: new Set(),
    artifacts: new Map(),
    last: mine.at(-1),
    sent: own.findLast(({ mark }) => isSend(mark))?.mark,
    asked: askedIn(mine),
  };
  for (const { mark } of mine) {
    if (mark.taskId !== "") relayed.taskId = mark.taskId;
    relayed.generation = mark.generation;
    if (mark.messageId !== "") relayed.messages.add(mark.messageId);
  }
  const prefix = artifactPrefix(place);
  for (const artifact of task?.artifacts ?? []) {
    const id = idThere(artifact, prefix);
    if (id !== undefined) relayed.artifacts.set(id, [...artifact.parts]);
  }
  return relayed;
}

function askedIn(mine: readonly RelayedEvent[]): RelayMark | undefined {
  const mark = mine.findLast((event) => !isOwnPause(event))?.mark;
  return mark !== undefined && isInterrupted(mark.state) ? mark : undefined;
}

/** A question of our own, for the caller's credentials, is none of the other agent: its mark names no message of that. */
function isOwnPause({ mark: { state, messageId }, message }: RelayedEvent): boolean {
  return state === TaskState.AUTH_REQUIRED && messageId === "" && message !== undefined;
}

function idThere({ artifactId }: Artifact, prefix: string): string | undefined {
  return artifactId.startsWith(prefix) ? artifactId.slice(prefix.length) : undefined;
}

/** What the ids of its artifacts begin with: no two delegations of a task share one, as names have no slash. */
export function artifactPrefix({ origin, delegation }: RelayPlace): string {
  return `${origin}.${delegation}/`;
}

/** The names of one send to another agent: the same whenever its turn runs again, and of no other send. */
export interface SendNames {
  /** The idempotency key. */
  readonly key: string;
  /** The id of the message. */
  readonly messageId: string;
}

/** Of the message whose turn sends it, in its task, and the delegation. Hashed: the other agent learns no id of ours. */
export async function sendNames(
  { message, keptAs }: TurnRequest,
  { delegation, origin }: RelayPlace,
  { messageId }: Pick<Message, "messageId"> = message,
): Promise<SendNames> {
  const names = JSON.stringify([keptAs ?? message.taskId, messageId, origin, delegation]);
  const hash = hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(names))));
  return { key: `parley-delegation-${hash.slice(0, 32)}`, messageId: `parley-${hash.slice(32)}` };
}
