import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
import type { LogCause } from "../core/log.js";
import { storedEntry } from "../engine/log/fold-stored.js";
import type { EnginePushes } from "../engine/pushes.js";
import type { ClaimedDelivery, TaskStore } from "../store/task-store.js";
import type { EventFilter } from "./event-filter.js";

interface CauseParts {
  readonly store: TaskStore;
  readonly pushes: Pick<EnginePushes, "readEntries">;
  readonly agentName: (tenant: string) => string | undefined;
}

/**
 * Facts for the log lines of a delivery: those of the entry whose notification was sent last, and the request of the
 * message whose turn wrote that entry.
 */
export class DeliveryCause implements LogCause {
  readonly taskId: string;
  readonly agent: string | undefined;
  readonly #parts: CauseParts;
  readonly #claimed: ClaimedDelivery;
  readonly #wanted: EventFilter;
  #entry: LogEntry | undefined;
  /** Position of the last message that was read, and its request. */
  #message = 0;
  #request: string | undefined;

  constructor(parts: CauseParts, claimed: ClaimedDelivery, wanted: EventFilter) {
    this.#parts = parts;
    this.#claimed = claimed;
    this.#wanted = wanted;
    this.taskId = claimed.taskId;
    this.agent = parts.agentName(claimed.tenant);
  }

  get traceParent(): string | undefined {
    return this.#entry?.traceParent;
  }

  /** Undefined until the message was read. */
  get requestId(): string | undefined {
    return this.#turn === this.#message ? this.#request : undefined;
  }

  /** Position of the message whose turn wrote the entry; 0 if unknown. */
  get #turn(): number {
    if (this.#entry === undefined) return 0;
    const { position, turn, turnPosition, answers } = this.#entry;
    return turn === undefined ? turnPosition || answers : position;
  }

  /** Notes an entry that was read: it may be a message. */
  note({ position, turn }: LogEntry): void {
    if (turn === undefined) return;
    this.#message = position;
    this.#request = turn.requestId;
  }

  /** Notes the entry whose notification is being sent. */
  noteSent(entry: LogEntry): void {
    this.#entry = entry;
  }

  /**
   * Reads the message, and the entry that would be sent next if none was sent. Never rejects: if the store fails, the
   * line lacks the facts.
   */
  async complete(): Promise<void> {
    try {
      this.#entry ??= await this.#next();
      const turn = this.#turn;
      if (turn === 0 || turn === this.#message) return;
      const message = await storedEntry(this.#parts.store, this.taskId, turn);
      if (message !== undefined) this.note(message);
    } catch {}
  }

  async #next(): Promise<LogEntry | undefined> {
    const { taskId, tenant, owner, position } = this.#claimed;
    for await (const page of this.#parts.pushes.readEntries({ taskId, tenant, owner, after: position })) {
      for (const entry of page) {
        this.note(entry);
        if (this.#wanted(entry)) return entry;
      }
    }
    return undefined;
  }
}
