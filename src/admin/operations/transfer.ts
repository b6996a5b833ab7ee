import { randomInt } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import {
  type ExportTaskResponse,
  ExportTaskResponseSchema,
  type ImportTaskRequest,
  ImportTaskResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import type { LogEntry } from "../../../gen/parley/log/v1/log_pb.js";
import { A2AError, invalid, taskNotFound } from "../../core/error.js";
import { yieldToEventLoop } from "../../core/event-loop.js";
import { statusDraft } from "../../engine/log/draft.js";
import { readError } from "../../engine/log/outage.js";
import { MAX_STATE_BYTES } from "../../engine/log/state-changes.js";
import type { OutgoingBudget } from "../../service/outgoing-budget.js";
import { requestBounds } from "../../service/rules.js";
import { type ConversationWrite, StoreError, type TaskRow, type TaskStore } from "../../store/task-store.js";
import { encodeEntry, millisOf, placeDraft } from "../../task/entry.js";
import { isTerminal } from "../../task/state.js";
import { isStoredId } from "../../task/task-names.js";
import { ExportWriter, inSlices, readExport, renameTask, type TaskImport, TransferError } from "../../task/transfer.js";
import type { AdminMethods } from "../methods.js";
import type { AdminParts } from "../parts.js";
import { summaryOf, withWeight } from "./task-summary.js";

/** Characters of lines in one piece of an export, unless a single line has more. */
const PIECE_LENGTH = 64 * 1024;

/** Entries that are read at a time; the store limits the bytes. */
const PAGE_ENTRIES = 100;

/** Message of the final status of a task that had not ended. */
const UNFINISHED = "The task had not ended when it was exported.";

export function transferOperations(
  parts: AdminParts,
  budget: OutgoingBudget,
): Pick<AdminMethods, "exportTask" | "importTask"> {
  return {
    exportTask: async function* ({ taskId }, { call }) {
      for await (const piece of exportTask(parts, taskId)) yield* budget.admitEvent(call, piece);
    },
    importTask: (request) => importTask(parts, request),
  };
}

/** Exports a task as of the call. @throws A2AError TASK_NOT_FOUND, TASK_DAMAGED, UNAVAILABLE */
async function* exportTask({ store }: AdminParts, taskId: string): AsyncGenerator<ExportTaskResponse> {
  try {
    yield* readPieces(store, taskId);
  } catch (error) {
    throw readError(taskId, error);
  }
}

/** The lines of a task as of the call. A conversation's state is that of the end of the export. */
async function* readPieces(store: TaskStore, taskId: string): AsyncGenerator<ExportTaskResponse> {
  const head = await store.head({ taskId });
  if (head === undefined) throw taskNotFound(taskId);
  const writer = new ExportWriter();
  let lines = writer.header(head, new Date());
  for (let after = 0; after < head.position; ) {
    const read = await store.read({ taskId, after, limit: Math.min(PAGE_ENTRIES, head.position - after) });
    // Removed meanwhile. Without its last line no reader accepts the export as complete.
    if (read.length === 0) throw taskNotFound(taskId);
    after += read.length;
    for (const bytes of read) {
      lines += writer.entry(bytes);
      if (lines.length < PIECE_LENGTH) continue;
      yield pieceOf(lines);
      lines = "";
      await yieldToEventLoop();
    }
  }
  const conversation = await store.conversation(head);
  if (conversation !== undefined) lines += writer.conversation(conversation.bytes);
  yield pieceOf(lines + writer.end());
}

function pieceOf(lines: string): ExportTaskResponse {
  return withWeight(create(ExportTaskResponseSchema, { lines }), lines.length);
}

async function importTask(
  { store, agents, limits }: AdminParts,
  request: ImportTaskRequest,
): Promise<ReturnType<typeof create<typeof ImportTaskResponseSchema>>> {
  const read = await readOf(request.lines);
  const { taskId = "", tenant = read.tenant, owner = read.owner } = request;
  const id = taskId === "" ? read.taskId : taskId;
  checkNames({ taskId: id, tenant, owner });
  checkContext(read.fold.task.contextId);
  checkState(read.conversation);
  const bytes = Math.max(read.fold.size, read.fold.steps?.bytes ?? 0);
  if (bytes > limits.maxTaskBytes) {
    throw new A2AError("TASK_TOO_LARGE", `The task has ${bytes} bytes, of at most ${limits.maxTaskBytes}.`);
  }
  if (id !== read.taskId) renameTask(read, id);
  const entries = [...read.entries, ...failedEnd(read)];
  const head = importedRow(entries, read, { taskId: id, tenant, owner });
  await save(store, head, entries, read.conversation);
  return create(ImportTaskResponseSchema, { task: summaryOf({ agents }, { ...head, lease: null }) });
}

async function readOf(lines: string): Promise<TaskImport> {
  try {
    return await readExport(lines);
  } catch (error) {
    if (!(error instanceof TransferError)) throw error;
    throw invalid([{ field: "lines", description: error.message }]);
  }
}

function checkNames(names: Readonly<Record<"taskId" | "tenant" | "owner", string>>): void {
  const { maxIdLength } = requestBounds;
  for (const field of ["taskId", "tenant", "owner"] as const) {
    const name = names[field];
    // Calls take any other id for a name that a client chose.
    if (field === "taskId" && !isStoredId(name)) throw invalid([{ field, description: "must be a UUID of version 7" }]);
    if (name.length > maxIdLength || name.includes("\0"))
      throw invalid([{ field, description: `must have at most ${maxIdLength} characters, without NUL` }]);
  }
}

/** @throws A2AError INVALID_PARAMS for an id that no context can have */
function checkContext(id: string): void {
  if (id !== "" && id.length <= requestBounds.maxIdLength && !id.includes("\0")) return;
  throw invalid([{ field: "lines", description: "name a context that cannot exist" }]);
}

/** @throws A2AError INVALID_PARAMS for a state that no conversation can have */
function checkState(state: Uint8Array | undefined): void {
  if (state === undefined) return;
  try {
    if (state.length > MAX_STATE_BYTES) throw new RangeError("too many bytes");
    JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(state));
  } catch {
    const description = `have a conversation's state that is not JSON of at most ${MAX_STATE_BYTES} bytes`;
    throw invalid([{ field: "lines", description }]);
  }
}

/** The final status of a task that had not ended: its agent does not run. */
function failedEnd({ fold }: TaskImport): LogEntry[] {
  if (isTerminal(fold.state)) return [];
  const { id, contextId } = fold.task;
  const draft = statusDraft({ taskId: id, contextId }, TaskState.FAILED, UNFINISHED, Date.now());
  const end = placeDraft(draft, fold.position + 1, fold.generation + 1);
  fold.apply(end);
  return [end];
}

function importedRow(
  entries: readonly LogEntry[],
  { fold }: TaskImport,
  names: Pick<TaskRow, "taskId" | "tenant" | "owner">,
): TaskRow {
  const { contextId, status } = fold.task;
  const statusTime = millisOf(status?.timestamp) || millisOf(entries.at(-1)?.time);
  return { ...names, contextId, state: fold.state, statusTime, position: fold.position, generation: fold.generation };
}

/** Stores the log in one append. The conversation gets its state only if it has none here. */
async function save(
  store: TaskStore,
  head: TaskRow,
  entries: readonly LogEntry[],
  state: Uint8Array | undefined,
): Promise<void> {
  const encoded: Uint8Array[] = [];
  await inSlices(entries, (entry) => encoded.push(encodeEntry(entry)));
  const request = { head, expected: 0, creates: true, entries: encoded };
  const isNew = state !== undefined && (await store.conversation(head)) === undefined;
  const conversation: ConversationWrite | undefined = isNew
    ? { expected: 0, version: randomInt(1, 2 ** 47), bytes: state }
    : undefined;
  try {
    await store.append(conversation === undefined ? request : { ...request, conversation });
  } catch (error) {
    const kind = error instanceof StoreError ? error.kind : undefined;
    if (kind === "conversation-moved") return save(store, head, entries, undefined);
    if (kind !== "conflict" && kind !== "finished") throw error;
    throw new A2AError("ALREADY_EXISTS", `The task ${head.taskId} exists.`, { metadata: { taskId: head.taskId } });
  }
}
