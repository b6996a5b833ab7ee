import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { type Artifact, type Message, type Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import { millisOf, stateAfter } from "./entry.js";
import { endsBlockingSend } from "./state.js";

/** An entry that belongs to the talk of a task. */
export interface TalkMark {
  /** Position of the entry. */
  readonly position: number;
  readonly time: Timestamp | undefined;
  /**
   * For a message that waited for its turn: position of the status that ended the turn before. Otherwise 0. Such a
   * message follows that status, although it was accepted earlier.
   */
  readonly after: number;
  /** State of a question or final status; UNSPECIFIED for the client's messages and artifacts. */
  readonly state: TaskState;
  /** Index of the message in the task's history, where the current status message comes last. */
  readonly index: number;
}

/** The folded task after an entry. */
interface Folded {
  readonly task: Task;
  /** Returns the index of an artifact in the task, or undefined if it does not exist. */
  placeOf(artifactId: string): number | undefined;
}

/** The last change of an artifact. */
interface ArtifactMark {
  position: number;
  time: Timestamp | undefined;
}

/** One utterance in the talk of a task. */
export interface Utterance extends Omit<TalkMark, "index"> {
  /** Milliseconds since the epoch; never earlier than that of the utterance before. */
  readonly ms: number;
  /** The message, or the artifact as it is now. */
  readonly content: Message | Artifact;
}

/**
 * Marks the entries of a log that belong to its talk: the client's messages, the statuses with a message that end a
 * turn, and the last change of each artifact.
 */
export class Talk {
  /** Messages and statuses, in order. */
  readonly marks: TalkMark[] = [];
  /** The marks of the task's artifacts, in their order in the task. */
  readonly artifacts: ArtifactMark[] = [];
  /** Position of the last status that ended a turn. */
  ended = 0;

  /** Notes an entry that was folded into the task. */
  add({ event, position, time, answers }: LogEntry, folded: Folded): void {
    if (event.case === "artifact") {
      const place = folded.placeOf(event.value.artifact?.artifactId ?? "");
      if (place !== undefined) this.#markArtifact(place, position, time);
      return;
    }
    const { history } = folded.task;
    if (event.case === "created" || event.case === "message") {
      if (history.length === 0) return;
      this.marks.push({ position, time, after: 0, state: TaskState.UNSPECIFIED, index: history.length - 1 });
      return;
    }
    const state = stateAfter(event);
    if (event.case !== "status" || state === undefined || !endsBlockingSend(state)) return;
    this.ended = position;
    const waiting = answers === 0 ? [] : this.#takeAfter(answers);
    const message = event.value.status?.message;
    // The next event adds the message to the history.
    if (message !== undefined && !this.#isRepeated(message, history)) {
      this.marks.push({ position, time, after: 0, state, index: history.length });
    }
    for (const mark of waiting) this.marks.push({ ...mark, after: position });
  }

  #markArtifact(place: number, position: number, time: Timestamp | undefined): void {
    const known = this.artifacts[place];
    if (known === undefined) this.artifacts[place] = { position, time };
    else {
      known.position = position;
      known.time = time;
    }
  }

  /** True if a status repeats the message of the status before it, as metadata after a question does. */
  #isRepeated(message: Message, history: readonly Message[]): boolean {
    const before = this.marks.findLast(({ state }) => state !== TaskState.UNSPECIFIED);
    if (before === undefined || message.messageId === "") return false;
    return (history[before.index] ?? message).messageId === message.messageId;
  }

  /** Removes and returns the client's messages after a position. */
  #takeAfter(position: number): TalkMark[] {
    const begin = this.marks.findIndex((mark) => mark.state === TaskState.UNSPECIFIED && mark.position > position);
    return begin < 0 ? [] : this.marks.splice(begin);
  }

  /** Returns the talk in order. Artifacts that a turn may still be changing are left out. */
  of({ history, status, artifacts }: Task): Utterance[] {
    const found: Omit<Utterance, "ms">[] = [];
    for (const { index, ...mark } of this.marks) {
      const content = history[index] ?? status?.message;
      if (content !== undefined) found.push({ ...mark, content });
    }
    for (const [place, content] of artifacts.entries()) {
      const mark = this.artifacts[place];
      if (mark === undefined || mark.position > this.ended) continue;
      found.push({ ...mark, after: 0, state: TaskState.UNSPECIFIED, content });
    }
    found.sort((a, b) => comparePlaces(a, b));
    let ms = 0;
    return found.map((each) => {
      ms = Math.max(ms, millisOf(each.time));
      return { ...each, ms };
    });
  }
}

/** Compares two places in the talk of one task. */
export function comparePlaces(
  a: Pick<TalkMark, "after" | "position">,
  b: Pick<TalkMark, "after" | "position">,
): number {
  const byPlace = (a.after || a.position) - (b.after || b.position);
  if (byPlace !== 0) return byPlace;
  return (a.after === 0 ? 0 : a.position) - (b.after === 0 ? 0 : b.position);
}
