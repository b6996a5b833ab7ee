import type { Artifact, Part, Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RelayedEvent } from "../agent/delegation.js";
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
}

/** The message that began the delegations of a turn: its own, or that of the turn whose question it answers. */
export function originOf(events: readonly RelayedEvent[], turn: number): number {
  const own = events.find(({ mark }) => mark.turn === turn);
  if (own !== undefined) return own.mark.origin;
  const last = events.at(-1)?.mark;
  return last !== undefined && isInterrupted(last.state) ? last.origin : turn;
}

/** What the log of a task, and the task as it stands with it, have of one delegation. */
export function relayedOf(events: readonly RelayedEvent[], task: Task | undefined, place: RelayPlace): Relayed {
  const mine = events.filter(({ mark }) => mark.origin === place.origin && mark.delegation === place.delegation);
  const relayed: Relayed = {
    taskId: "",
    generation: 0,
    messages: new Set(),
    artifacts: new Map(),
    last: mine.at(-1),
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

function idThere({ artifactId }: Artifact, prefix: string): string | undefined {
  return artifactId.startsWith(prefix) ? artifactId.slice(prefix.length) : undefined;
}

/** What the ids of its artifacts begin with: no two delegations of a task share one, as names have no slash. */
export function artifactPrefix({ origin, delegation }: RelayPlace): string {
  return `${origin}.${delegation}/`;
}
