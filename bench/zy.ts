import { create, toJson } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Role, TaskSchema, TaskState, type Task, type Message, type Part, type Artifact, type TaskStatus } from "../gen/lf/a2a/v1/a2a_pb.js";
import { jsonWriter } from "../src/wire/json-writer.js";
import { quote, writeJsonValue } from "../src/wire/json-text.js";
import { formatTimestamp } from "../src/wire/json-time.js";
const uuid = (n: number) => `0198f2b4-7c1e-7000-8000-${n.toString(16).padStart(12, "0")}`;
const text = "The quick brown fox jumps over the lazy dog.";
const task = create(TaskSchema, {
  id: uuid(1), contextId: uuid(2),
  status: { state: TaskState.COMPLETED, timestamp: timestampFromMs(1760000000123) },
  artifacts: [{ artifactId: uuid(3), name: "summary", parts: [{ content: { case: "text", value: text } }] }],
  history: [
    { messageId: uuid(4), contextId: uuid(2), taskId: uuid(1), role: Role.USER, parts: [{ content: { case: "text", value: text } }] },
    { messageId: uuid(5), contextId: uuid(2), taskId: uuid(1), role: Role.AGENT, parts: [{ content: { case: "text", value: text } }], metadata: { step: 1, tags: ["a", "b"] } },
  ],
});
function measure(run: () => unknown): number {
  for (let i = 0; i < 20_000; i++) run();
  let best = Infinity;
  for (let round = 0; round < 5; round++) {
    const start = process.hrtime.bigint();
    for (let i = 0; i < 50_000; i++) run();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / 50_000);
  }
  return best;
}
const q = process.argv[2] === "noq" ? (s: string) => '"' + s + '"' : quote;
function list<T>(xs: T[], w: (x: T) => string) { let o = "["; for (let i = 0; i < xs.length; i++) { if (i) o += ","; o += w(xs[i] as T); } return o + "]"; }
function part(p: Part): string { let o = "{"; switch (p.content.case) { case "text": o += '"text":' + q(p.content.value); break; default: }
 if (p.metadata !== undefined) o += ',"metadata":' + writeJsonValue(p.metadata); if (p.filename !== "") o += ',"filename":' + q(p.filename); if (p.mediaType !== "") o += ',"mediaType":' + q(p.mediaType); return o + "}"; }
function message(m: Message): string { let o = '{"messageId":' + q(m.messageId); if (m.contextId !== "") o += ',"contextId":' + q(m.contextId); if (m.taskId !== "") o += ',"taskId":' + q(m.taskId); o += ',"role":' + (m.role === 1 ? '"ROLE_USER"' : '"ROLE_AGENT"'); o += ',"parts":' + list(m.parts, part); if (m.metadata !== undefined) o += ',"metadata":' + writeJsonValue(m.metadata); if (m.extensions.length > 0) o += ',"extensions":' + list(m.extensions, q); if (m.referenceTaskIds.length > 0) o += ',"referenceTaskIds":' + list(m.referenceTaskIds, q); return o + "}"; }
function artifact(a: Artifact): string { let o = '{"artifactId":' + q(a.artifactId); if (a.name !== "") o += ',"name":' + q(a.name); if (a.description !== "") o += ',"description":' + q(a.description); o += ',"parts":' + list(a.parts, part); if (a.metadata !== undefined) o += ',"metadata":' + writeJsonValue(a.metadata); if (a.extensions.length > 0) o += ',"extensions":' + list(a.extensions, q); return o + "}"; }
function status(s: TaskStatus) { let o = '{"state":' + (s.state === 3 ? '"TASK_STATE_COMPLETED"' : '"x"'); if (s.message !== undefined) o += ',"message":' + message(s.message); if (s.timestamp !== undefined) o += ',"timestamp":' + formatTimestamp(s.timestamp); return o + "}"; }
function writeTask(t: Task): string { let o = '{"id":' + q(t.id); if (t.contextId !== "") o += ',"contextId":' + q(t.contextId); if (t.status !== undefined) o += ',"status":' + status(t.status); if (t.artifacts.length > 0) o += ',"artifacts":' + list(t.artifacts, artifact); if (t.history.length > 0) o += ',"history":' + list(t.history, message); if (t.metadata !== undefined) o += ',"metadata":' + writeJsonValue(t.metadata); return o + "}"; }
const w = jsonWriter(TaskSchema);
console.log("lib+bytes", measure(() => Buffer.byteLength(JSON.stringify(toJson(TaskSchema, task)))));
console.log("closures+bytes", measure(() => Buffer.byteLength(w(task))));
console.log("hand+bytes", measure(() => Buffer.byteLength(writeTask(task))), writeTask(task) === w(task));
console.log("hand unflat", measure(() => writeTask(task).length));
