import { type Message, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry, Relay } from "../../gen/parley/log/v1/log_pb.js";
import { isInterrupted, isTerminal } from "./state.js";

/** An entry relayed from another agent's task. */
export interface RelayedEntry {
  readonly position: number;
  readonly relay: Relay;
  /** The message of a direct reply, or of a question that no other agent has asked. */
  readonly message: Message | undefined;
}

/**
 * The relayed entries of a task's log. An entry is dropped if the next one of the same sub-task and turn covers it, as
 * with most chunks of artifacts: of thousands of events, only a few are kept.
 */
export class RelayCheckpoints {
  readonly #kept: RelayedEntry[] = [];
  /** The newest entry of each sub-task and turn, if a later one may replace it. */
  readonly #newest = new Map<string, RelayedEntry>();

  /** @param entry comes after all that were added before */
  add({ position, relay, event }: LogEntry): void {
    if (relay === undefined) return;
    const statusMessage = event.case === "status" ? event.value.status?.message : undefined;
    this.put({ position, relay, message: isWithText(relay) ? statusMessage : undefined });
  }

  /** Adds a saved entry. */
  put(entry: RelayedEntry): void {
    const { origin, delegation, turn, messageId, state } = entry.relay;
    const key = `${origin}.${turn}.${delegation}`;
    if (messageId === "" && !isInterrupted(state) && !isTerminal(state)) this.#newest.set(key, entry);
    else {
      this.#newest.delete(key);
      this.#kept.push(entry);
    }
  }

  /** Returns all entries in the order of the log. */
  all(): RelayedEntry[] {
    return [...this.#kept, ...this.#newest.values()].sort((a, b) => a.position - b.position);
  }
}

/** Tells whether the message of an entry is needed later. */
function isWithText({ taskId, messageId, state }: Relay): boolean {
  const isAnswer = taskId === "" && state === TaskState.COMPLETED;
  return isAnswer || (state === TaskState.AUTH_REQUIRED && messageId === "");
}
