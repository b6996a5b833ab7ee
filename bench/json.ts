/**
 * Speed of the JSON codec against protobuf-es, in nanoseconds for one message: `node --import tsx bench/json.ts`.
 * Writing is measured to the bytes that leave, reading from what JSON.parse made. The messages of one row differ in
 * their ids and texts, so that nothing is kept from one to the next that a server would not keep.
 */
import { create, type DescMessage, fromJson, type JsonValue, type MessageShape, toJson } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  MessageSchema,
  PartSchema,
  Role,
  SendMessageRequestSchema,
  SendMessageResponseSchema,
  StreamResponseSchema,
  TaskSchema,
  TaskState,
} from "../gen/lf/a2a/v1/a2a_pb.js";
import { newId } from "../src/core/ids.js";
import { jsonReader } from "../src/wire/json-reader.js";
import { jsonWriter } from "../src/wire/json-writer.js";

const VARIANTS = 500;
const ROUNDS = 100;

const part = (n: number) =>
  create(PartSchema, { content: { case: "text", value: `The quick brown fox jumps over the lazy dog no. ${n}.` } });
const message = (n: number, role: Role, taskId = "", contextId: string = newId()) =>
  create(MessageSchema, { messageId: newId(), contextId, taskId, role, parts: [part(n)] });
const timestamp = (n: number) => timestampFromMs(1_760_000_000_123 + n * 37);

function task(n: number) {
  const [id, contextId] = [newId(), newId()];
  const answer = { ...message(n, Role.AGENT, id, contextId), metadata: { step: n, tags: ["a", "b"] } };
  return create(TaskSchema, {
    id,
    contextId,
    status: { state: TaskState.COMPLETED, timestamp: timestamp(n) },
    artifacts: [{ artifactId: newId(), name: "summary", parts: [part(n)] }],
    history: [message(n, Role.USER, id, contextId), answer],
  });
}

const stream = { taskId: newId(), contextId: newId() };
const rows: [string, DescMessage, (n: number) => MessageShape<DescMessage>][] = [
  ["Task", TaskSchema, task],
  [
    "StreamResponse, status",
    StreamResponseSchema,
    (n) => {
      const status = {
        state: TaskState.WORKING,
        timestamp: timestamp(n),
        message: message(n, Role.AGENT, stream.taskId, stream.contextId),
      };
      return create(StreamResponseSchema, { payload: { case: "statusUpdate", value: { ...stream, status } } });
    },
  ],
  [
    "StreamResponse, chunk",
    StreamResponseSchema,
    (n) => {
      const value = { ...stream, append: true, artifact: { artifactId: stream.taskId, parts: [part(n)] } };
      return create(StreamResponseSchema, { payload: { case: "artifactUpdate", value } });
    },
  ],
  [
    "SendMessageResponse",
    SendMessageResponseSchema,
    (n) => create(SendMessageResponseSchema, { payload: { case: "message", value: message(n, Role.AGENT) } }),
  ],
  [
    "SendMessageRequest",
    SendMessageRequestSchema,
    (n) =>
      create(SendMessageRequestSchema, {
        message: message(n, Role.USER),
        configuration: { acceptedOutputModes: ["text/plain"], historyLength: 10 },
      }),
  ],
];

/** Nanoseconds for one run, the best of seven measurements. */
function measure<T>(items: readonly T[], run: (item: T) => unknown): number {
  let best = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 7; attempt++) {
    const start = process.hrtime.bigint();
    for (let round = 0; round < ROUNDS; round++) for (const item of items) run(item);
    best = Math.min(best, Number(process.hrtime.bigint() - start) / (ROUNDS * items.length));
  }
  return best;
}

const table: Record<string, Record<string, string | number>> = {};
for (const [name, desc, make] of rows) {
  const messages = Array.from({ length: VARIANTS }, (_, n) => make(n));
  const write = jsonWriter(desc);
  const read = jsonReader(desc);
  const parsed = messages.map((each): JsonValue => JSON.parse(write(each)));
  const theirsOut = measure(messages, (each) => Buffer.byteLength(JSON.stringify(toJson(desc, each))));
  const oursOut = measure(messages, (each) => Buffer.byteLength(write(each)));
  const theirsIn = measure(parsed, (json) => fromJson(desc, json, { ignoreUnknownFields: true }));
  const oursIn = measure(parsed, (json) => read(json));
  table[name] = {
    bytes: Buffer.byteLength(write(messages[0] as MessageShape<DescMessage>)),
    "toJson + stringify": Math.round(theirsOut),
    write: Math.round(oursOut),
    "writes faster": (theirsOut / oursOut).toFixed(2),
    fromJson: Math.round(theirsIn),
    read: Math.round(oursIn),
    "reads faster": (theirsIn / oursIn).toFixed(2),
  };
}
console.table(table);
