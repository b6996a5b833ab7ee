import { create, toJson } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Role, TaskSchema, TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import { jsonWriter } from "../src/wire/json-writer.js";
import { quote } from "../src/wire/json-text.js";
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
const j = toJson(TaskSchema, task);
const strs: string[] = []; JSON.stringify(j, (k,v)=>{ if(typeof v==="string") strs.push(v); return v;});
const w = jsonWriter(TaskSchema);
console.log("strings", strs.length, strs.join("").length);
console.log("toJson", measure(()=>toJson(TaskSchema, task)));
console.log("stringify", measure(()=>JSON.stringify(j)));
console.log("quote all", measure(()=>{let n=0; for(const s of strs) n+=quote(s).length; return n;}));
console.log("write (unflattened)", measure(()=>w(task).length));
console.log("write+bytes", measure(()=>Buffer.byteLength(w(task))));
console.log("stringify+bytes", measure(()=>Buffer.byteLength(JSON.stringify(toJson(TaskSchema,task)))));
console.log("write+Buffer.from", measure(()=>Buffer.from(w(task))));
console.log("stringify+Buffer.from", measure(()=>Buffer.from(JSON.stringify(toJson(TaskSchema,task)))));
