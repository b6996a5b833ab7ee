/**
 * Fills a SQLite file with tasks: path, count, and `finished` (four entries each), `cut off` (two, in the middle of a
 * turn of a process that is gone), `of somebody else` (finished, of an owner that has a name) or `of one context` (finished).
 * Says when it is done, and ends.
 */
import { create } from "@bufbuild/protobuf";
import { Role, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, LogEntrySchema } from "../../gen/parley/log/v1/log_pb.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { encodeEntry, timestampOf } from "../../src/task/entry.js";
import { FILLED_TASK, NUMBER } from "../protocol.js";
import { RESULT_TEXT, WORKING_TEXT } from "./answers.js";
import { answerQuestions } from "./child.js";

/** Appends under way at once. */
const AT_ONCE = 512;

const [, , path = "", count = "0", kind = "finished"] = process.argv;
const owner = kind === "of somebody else" ? "somebody else" : "";
const lease = kind === "cut off" ? { holder: "gone", turn: 1, attempt: 1 } : undefined;
const store = sqliteStore(path);
const begin = Date.now() - Number(count) * 10;

const text = (value: string) => [{ content: { case: "text", value } as const }];

/** The log of a task. */
function entriesOf(taskId: string, contextId: string, time: number): LogEntry[] {
  const place = { taskId, contextId };
  const at = timestampOf(time);
  const said = { messageId: `${taskId}-1`, role: Role.USER, ...place, parts: text("What is the weather?") };
  const note = { messageId: `${taskId}-2`, role: Role.AGENT, ...place, parts: text(WORKING_TEXT) };
  const artifact = { artifactId: `${taskId}-3`, name: "result", parts: text(RESULT_TEXT) };
  const submitted = { state: TaskState.SUBMITTED, timestamp: at };
  const working = { state: TaskState.WORKING, timestamp: at, message: note };
  const completed = { state: TaskState.COMPLETED, timestamp: at };
  const created = { id: taskId, contextId, status: submitted, history: [said] };
  return [
    create(LogEntrySchema, { event: { case: "created", value: created } }),
    create(LogEntrySchema, { event: { case: "status", value: { ...place, status: working } } }),
    create(LogEntrySchema, { event: { case: "artifact", value: { ...place, artifact, lastChunk: true } } }),
    create(LogEntrySchema, { event: { case: "status", value: { ...place, status: completed } } }),
  ].map((entry, index) => ({ ...entry, position: index + 1, generation: index + 1, time: at }));
}

async function append(index: number): Promise<void> {
  const taskId = FILLED_TASK.replace(NUMBER, String(index).padStart(NUMBER.length, "0"));
  const contextId = kind === "of one context" ? "context" : `context-${index >> 2}`;
  const statusTime = begin + index * 10;
  const all = entriesOf(taskId, contextId, statusTime).map(encodeEntry);
  const entries = lease === undefined ? all : all.slice(0, 2);
  const state = lease === undefined ? TaskState.COMPLETED : TaskState.WORKING;
  const ids = { taskId, contextId, tenant: "", owner };
  const place = { position: entries.length, generation: entries.length };
  const head = { ...ids, ...place, state, statusTime };
  await store.append({ head, expected: 0, creates: true, entries, lease });
}

let next = 0;
async function worker(): Promise<void> {
  while (next < Number(count)) await append(next++);
}

await Promise.all(Array.from({ length: AT_ONCE }, worker));
await store.close();
answerQuestions(() => {}, {});
