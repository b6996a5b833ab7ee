import { create } from "@bufbuild/protobuf";
import { type Message, MessageSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import type { TurnRequest } from "../../agent/turn-request.js";
import { anonymous } from "../../core/call.js";
import type { TaskHead } from "../../store/task-store.js";
import type { TaskLog } from "../log/task-log.js";

/**
 * The messages of a task that wait for their turn. The log lists them, whichever process accepted them; this class
 * keeps the facts that only this process knows (the caller, its claims).
 */
export class TurnQueue {
  readonly #log: TaskLog;
  /** Known messages, rarely more than one. */
  readonly #known: TurnRequest[] = [];

  constructor(log: TaskLog) {
    this.#log = log;
  }

  /** Adds a stored message that this process accepted, or read for a recovery. */
  add(request: TurnRequest): void {
    this.#known.push(request);
  }

  /** The first known message; undefined if none waits. */
  get first(): TurnRequest | undefined {
    return this.#known[0];
  }

  /** Position of the next stored message after the current turn; undefined if none waits. */
  get next(): number | undefined {
    const { fold, turns } = this.#log;
    const turn = turns.current;
    let next = fold.messages[fold.messages.length - fold.messagesAfter(turn)];
    // Snapshots of older versions lack message positions; recovery has read them from the log.
    for (const { position } of this.#known) if (position > turn && !(position > (next ?? Infinity))) next = position;
    return next;
  }

  /** Removes and returns a known message; undefined if it has to be read from the log. */
  takeKnown(position: number): TurnRequest | undefined {
    const index = this.#known.findIndex((request) => request.position === position);
    return index < 0 ? undefined : this.#known.splice(index, 1)[0];
  }

  /** Reads a message from the log that another process accepted. */
  async read(position: number): Promise<TurnRequest> {
    const log = this.#log;
    const entry = await log.entryAt(position);
    const request = entry && storedTurn(log.head, entry);
    if (request === undefined) throw new Error(`Entry ${position} of task ${log.taskId} is not a message.`);
    return request;
  }
}

/** Returns the turn of a message from its entry, for a process that did not accept it; undefined for other entries. */
export function storedTurn(head: TaskHead, entry: LogEntry): TurnRequest | undefined {
  const message = messageOfEntry(entry);
  const context = entry.turn;
  if (message === undefined) return undefined;
  return {
    taskId: head.taskId,
    message,
    position: entry.position,
    attempt: 1,
    // Claims belong to the credentials and are never stored: a restarted turn knows its owner and scopes.
    caller:
      head.owner === ""
        ? anonymous
        : { owner: head.owner, authenticated: true, scopes: context?.scopes ?? [], claims: {} },
    tenant: head.tenant,
    extensions: new Set(context?.extensions),
    acceptedOutputModes: context?.acceptedOutputModes ?? [],
    metadata: context?.metadata ?? {},
    traceParent: entry.traceParent,
    traceState: context?.traceState ?? "",
    requestId: context?.requestId,
    delegationDepth: context?.delegationDepth ?? 0,
  };
}

function messageOfEntry(entry: LogEntry): Message | undefined {
  if (entry.event.case === "message") return entry.event.value;
  if (entry.event.case === "created") return entry.event.value.history.at(-1) ?? create(MessageSchema);
  return undefined;
}
