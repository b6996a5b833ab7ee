import { create, fromJson, type DescMessage, type JsonValue, type MessageShape, toJson } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Role, SendMessageRequestSchema, SendMessageResponseSchema, StreamResponseSchema, TaskSchema, TaskState } from "../gen/lf/a2a/v1/a2a_pb.js";
import { jsonWriter } from "../src/wire/json-writer.js";

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
const message = { messageId: uuid(6), contextId: uuid(2), role: Role.USER, parts: [{ content: { case: "text" as const, value: text } }] };
const cases: [string, DescMessage, MessageShape<DescMessage>][] = [
  ["Task", TaskSchema, task],
  ["StreamResponse status", StreamResponseSchema, create(StreamResponseSchema, { payload: { case: "statusUpdate", value: { taskId: uuid(1), contextId: uuid(2), status: { state: TaskState.WORKING, timestamp: timestampFromMs(1760000000123), message: { ...message, role: Role.AGENT } } } } })],
  ["StreamResponse artifact", StreamResponseSchema, create(StreamResponseSchema, { payload: { case: "artifactUpdate", value: { taskId: uuid(1), contextId: uuid(2), append: true, artifact: { artifactId: uuid(3), parts: [{ content: { case: "text", value: text } }] } } } })],
  ["SendMessageResponse", SendMessageResponseSchema, create(SendMessageResponseSchema, { payload: { case: "message", value: message } })],
  ["SendMessageRequest", SendMessageRequestSchema, create(SendMessageRequestSchema, { message, configuration: { acceptedOutputModes: ["text/plain"], historyLength: 10 } })],
];
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
for (const [name, desc, msg] of cases) {
  const write = jsonWriter(desc);
  const a = measure(() => Buffer.byteLength(JSON.stringify(toJson(desc, msg))));
  const b = measure(() => Buffer.byteLength(write(msg)));
  console.log(name.padEnd(26), "write", a.toFixed(0), b.toFixed(0), (a / b).toFixed(2), Buffer.byteLength(write(msg)));
}
