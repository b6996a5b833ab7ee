import { createHash, type Hash } from "node:crypto";
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, LogEntrySchema } from "../../gen/parley/log/v1/log_pb.js";
import { fromBase64 } from "../core/bytes.js";
import { Slices } from "../core/event-loop.js";
import { messageIn } from "../core/members.js";
import { STORED_LEVELS } from "../wire/nesting.js";
import { countsAsGeneration, decodeEntry, stateAfter } from "./entry.js";
import { TaskFold } from "./fold.js";
import { addedSize } from "./size.js";
import { isTerminal } from "./state.js";

/**
 * An exported task is lines of JSON: a header, each entry of its log, the state of its conversation if it has one, and a
 * last line with the number of entries and the SHA-256 of all lines before it, so that a part of an export is never
 * taken for all of it. Push configurations are left out: they contain secrets, and a copy of a task must not notify
 * anybody.
 */
const FORMAT = "parley task";
const FORMAT_VERSION = 1;

/** Facts of an export about its task, beside the log. */
export interface ExportedTask {
  readonly taskId: string;
  readonly tenant: string;
  readonly owner: string;
}

/** An export that was read and checked. */
export interface TaskImport extends ExportedTask {
  readonly entries: readonly LogEntry[];
  /** The entries, folded. */
  readonly fold: TaskFold;
  /** State of the conversation as the store has it. */
  readonly conversation: Uint8Array | undefined;
}

/** A text that is not a whole export. */
export class TransferError extends Error {
  override name = "TransferError";
}

/** Writes the lines of an export, in order. Each ends with a line feed. */
export class ExportWriter {
  readonly #hash: Hash = createHash("sha256");
  #entries = 0;

  header({ taskId, tenant, owner }: ExportedTask, exported: Date): string {
    return this.#line({
      format: FORMAT,
      version: FORMAT_VERSION,
      taskId,
      tenant,
      owner,
      exported: exported.toISOString(),
    });
  }

  /** @param bytes as stored */
  entry(bytes: Uint8Array): string {
    this.#entries++;
    return this.#line({ entry: toJson(LogEntrySchema, decodeEntry(bytes)) });
  }

  conversation(bytes: Uint8Array): string {
    return this.#line({ conversation: Buffer.from(bytes).toString("base64") });
  }

  end(): string {
    const end = { entries: this.#entries, sha256: this.#hash.digest("hex") };
    return `${JSON.stringify({ end })}\n`;
  }

  #line(value: JsonValue): string {
    const line = `${JSON.stringify(value)}\n`;
    this.#hash.update(line);
    return line;
  }
}

/** Work on a large export yields to the event loop after this time, in milliseconds. */
const SLICE_MS = 5;

/** Calls back with each item in order, with turns of the event loop between them. */
export async function inSlices<T>(items: readonly T[], each: (item: T, index: number) => void): Promise<void> {
  const slices = new Slices(SLICE_MS);
  for (const [index, item] of items.entries()) {
    each(item, index);
    if (slices.isLong) await slices.pause();
  }
}

/**
 * Reads an export and checks all of it: its digest, its format, and that the entries are the log of one task.
 * @throws TransferError with the first fault
 */
export async function readExport(text: string): Promise<TaskImport> {
  const lines = text.split("\n");
  if (lines.pop() !== "" || lines.length < 3) throw new TransferError("The export is not whole: its end is missing.");
  const last = objectIn(lines.pop() ?? "", "The last line");
  await checkEnd(last.end, lines);
  const header = objectIn(lines[0] ?? "", "Line 1");
  if (header.format !== FORMAT) throw new TransferError("Line 1 is not the header of an exported task.");
  if (header.version !== FORMAT_VERSION) {
    throw new TransferError(
      `The format is version ${String(header.version)}, and this program knows ${FORMAT_VERSION}.`,
    );
  }
  const { taskId, tenant, owner } = taskIn(header);
  const { entries, conversation } = await readEntries(lines.slice(1));
  return { taskId, tenant, owner, entries, fold: await foldOf(entries), conversation };
}

/** Maximum length of a header that `exportedTask` reads, in characters. A header has a few short names. */
const MAX_HEADER = 16 * 1024;

/** Reads the header of an export, and nothing else of it. Returns the task in it; undefined without a valid header. */
export function exportedTask(text: string): ExportedTask | undefined {
  const end = text.indexOf("\n");
  if (end < 0 || end > MAX_HEADER) return undefined;
  try {
    return taskIn(objectIn(text.slice(0, end), "Line 1"));
  } catch {
    return undefined;
  }
}

function taskIn({ taskId, tenant, owner }: Readonly<Record<string, unknown>>): ExportedTask {
  if (typeof taskId !== "string" || typeof tenant !== "string" || typeof owner !== "string") {
    throw new TransferError("Line 1 does not name the task, its tenant and its owner.");
  }
  return { taskId, tenant, owner };
}

async function checkEnd(end: unknown, lines: readonly string[]): Promise<void> {
  const { sha256, entries } = (typeof end === "object" && end !== null ? end : {}) as Record<string, unknown>;
  const hash = createHash("sha256");
  await inSlices(lines, (line) => hash.update(`${line}\n`));
  if (sha256 !== hash.digest("hex")) {
    throw new TransferError("The export is not whole, or was changed: its last line does not match the others.");
  }
  const count = lines.filter((line) => line.startsWith('{"entry":')).length;
  if (entries !== count) throw new TransferError("The last line names another number of entries.");
}

/** @param lines those after the header */
async function readEntries(lines: readonly string[]): Promise<Pick<TaskImport, "entries" | "conversation">> {
  const entries: LogEntry[] = [];
  let conversation: Uint8Array | undefined;
  await inSlices(lines, (text, index) => {
    const line = objectIn(text, `Line ${index + 2}`);
    if (line.entry !== undefined && conversation === undefined) entries.push(entryIn(line.entry, index + 2));
    else if (typeof line.conversation === "string" && conversation === undefined)
      conversation = fromBase64(line.conversation);
    else throw new TransferError(`Line ${index + 2} is neither an entry nor a conversation.`);
  });
  return { entries, conversation };
}

function entryIn(json: unknown, line: number): LogEntry {
  try {
    return fromJson(LogEntrySchema, json as JsonValue, { recursionLimit: STORED_LEVELS });
  } catch (cause) {
    throw new TransferError(`Line ${line} is not an entry that this program understands.`, { cause });
  }
}

function objectIn(line: string, what: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Rejected below.
  }
  throw new TransferError(`${what} is not an object of JSON.`);
}

/** @throws TransferError if the entries are not the log of one task */
async function foldOf(entries: readonly LogEntry[]): Promise<TaskFold> {
  const fold = new TaskFold();
  await inSlices(entries, (entry) => {
    // The limit of a task relies on its size.
    if (entry.size !== 0) entry.size = addedSize(entry.event);
    const fault = faultOf(entry, fold);
    if (fault !== undefined) throw new TransferError(`Entry ${entry.position} ${fault}.`);
    try {
      fold.apply(entry);
    } catch (cause) {
      throw new TransferError(messageIn(cause), { cause });
    }
  });
  return fold;
}

function faultOf({ event, generation }: LogEntry, { task, state, generation: before }: TaskFold): string | undefined {
  if (isTerminal(state)) return "comes after the end of the task";
  // The first generation of a task follows those of the task that it continues.
  const isRight =
    event.case === "created" ? generation > 0 : generation === before + (countsAsGeneration(event) ? 1 : 0);
  if (!isRight) return "has a wrong generation";
  if ((event.case === "created" || event.case === "status") && !stateAfter(event)) return "has no state";
  if (event.case === "status" || event.case === "artifact") {
    if (event.value.taskId !== task.id || event.value.contextId !== task.contextId) return "is of another task";
  }
  return undefined;
}

/** Gives an imported task another id. A task whose client chose its id keeps that one in its events. */
export function renameTask({ taskId: from, entries, fold }: TaskImport, to: string): void {
  if (fold.task.id !== from) return;
  fold.task.id = to;
  const rename = (message: Message | undefined): void => {
    if (message?.taskId === from) message.taskId = to;
  };
  for (const { event } of entries) {
    switch (event.case) {
      case "created":
        event.value.id = to;
        event.value.history.forEach(rename);
        rename(event.value.status?.message);
        break;
      case "message":
        rename(event.value);
        break;
      case "status":
        event.value.taskId = to;
        rename(event.value.status?.message);
        break;
      case "artifact":
        event.value.taskId = to;
    }
  }
}
