import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  ArtifactSchema,
  MessageSchema,
  PartSchema,
  Role,
  TaskArtifactUpdateEventSchema,
  TaskSchema,
  TaskState,
  TaskStatusSchema,
  TaskStatusUpdateEventSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, LogEntrySchema } from "../../../gen/parley/log/v1/log_pb.js";
import { newId } from "../../../src/core/ids.js";
import { sqliteStore } from "../../../src/store/sqlite/index.js";
import { encodeEntry } from "../../../src/task/entry.js";

/** Number of concurrent appends. */
const BATCH = 2_000;

const textPart = (value: string) => create(PartSchema, { content: { case: "text", value } });

/** Fills a new SQLite store with ended tasks, the first one newest. Returns their ids. */
export async function seedTasks(path: string, count: number): Promise<readonly string[]> {
  const store = sqliteStore({ path, synchronous: "NORMAL" });
  const ids = Array.from({ length: count }, () => newId());
  const now = Date.now();
  for (let from = 0; from < count; from += BATCH) {
    const batch = ids.slice(from, from + BATCH).map(async (taskId, index) => {
      const at = now - (from + index) * 1_000;
      const entries = [created(taskId, `Task ${from + index}`, at), completed(taskId, 2, 2, at)];
      await store.append({
        head: headOf(taskId, entries, at),
        expected: 0,
        creates: true,
        entries: entries.map(encodeEntry),
      });
    });
    await Promise.all(batch);
  }
  await store.close();
  return ids;
}

/** Adds an ended task with many artifact chunks. Every thousandth chunk begins a new artifact. Returns its id. */
export async function seedLongTask(path: string, length: number): Promise<string> {
  const store = sqliteStore({ path, synchronous: "NORMAL" });
  const taskId = newId();
  const began = Date.now() - length * 10;
  let position = 0;
  while (position < length) {
    const entries: LogEntry[] = [];
    while (entries.length < 5_000 && position < length) {
      position += 1;
      const at = began + position * 10;
      if (position === 1) entries.push(created(taskId, "A long one", at));
      else if (position === length) entries.push(completed(taskId, position, position, at));
      else entries.push(chunk(taskId, position, at));
    }
    const expected = position - entries.length;
    const head = headOf(taskId, entries, began + position * 10);
    await store.append({ head, expected, creates: expected === 0, entries: entries.map(encodeEntry) });
  }
  await store.close();
  return taskId;
}

function headOf(taskId: string, entries: readonly LogEntry[], at: number) {
  const last = entries.at(-1);
  const isOver = last?.event.case === "status";
  return {
    ...{ taskId, tenant: "", owner: "", contextId: `context of ${taskId}` },
    ...{ state: isOver ? TaskState.COMPLETED : TaskState.WORKING, statusTime: at },
    ...{ position: last?.position ?? 0, generation: last?.generation ?? 0 },
  };
}

function created(taskId: string, text: string, at: number): LogEntry {
  const contextId = `context of ${taskId}`;
  const message = create(MessageSchema, {
    ...{ messageId: newId(), taskId, contextId, role: Role.USER, parts: [textPart(text)] },
  });
  const status = create(TaskStatusSchema, { state: TaskState.SUBMITTED, timestamp: timestampFromMs(at) });
  const value = create(TaskSchema, { id: taskId, contextId, status, history: [message] });
  return entryOf(1, 1, at, { case: "created", value });
}

function completed(taskId: string, position: number, generation: number, at: number): LogEntry {
  const status = create(TaskStatusSchema, { state: TaskState.COMPLETED, timestamp: timestampFromMs(at) });
  const contextId = `context of ${taskId}`;
  const value = create(TaskStatusUpdateEventSchema, { taskId, contextId, status });
  return entryOf(position, generation, at, { case: "status", value });
}

function chunk(taskId: string, position: number, at: number): LogEntry {
  const artifactId = `part ${Math.floor(position / 1_000)}`;
  const artifact = create(ArtifactSchema, { artifactId, name: artifactId, parts: [textPart(`line ${position}\n`)] });
  const contextId = `context of ${taskId}`;
  const append = position % 1_000 !== 0 && position !== 2;
  const value = create(TaskArtifactUpdateEventSchema, { taskId, contextId, artifact, append });
  return entryOf(position, position, at, { case: "artifact", value });
}

function entryOf(position: number, generation: number, at: number, event: LogEntry["event"]): LogEntry {
  return create(LogEntrySchema, { position, generation, time: timestampFromMs(at), event, writer: "seed", attempt: 1 });
}
