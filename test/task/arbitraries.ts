import { create, type JsonObject } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import {
  ArtifactSchema,
  MessageSchema,
  PartSchema,
  Role,
  TaskArtifactUpdateEventSchema,
  TaskState,
  TaskStatusUpdateEventSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type LogEntry, StepSchema } from "../../gen/parley/log/v1/log_pb.js";
import { countsAsGeneration, type Draft, placeDraft, timestampOf } from "../../src/task/entry.js";

const place = { taskId: "task", contextId: "context" };

const parts = fc
  .array(fc.string({ maxLength: 8 }), { minLength: 1, maxLength: 3 })
  .map((texts) => texts.map((text) => create(PartSchema, { content: { case: "text", value: text } })));

let serial = 0;

const message = (role: Role) =>
  parts.map((list) => create(MessageSchema, { ...place, messageId: `message-${++serial}`, role, parts: list }));

const created: fc.Arbitrary<Draft["event"]> = message(Role.USER).map((first) => ({
  case: "created",
  value: {
    $typeName: "lf.a2a.v1.Task",
    id: place.taskId,
    contextId: place.contextId,
    status: { $typeName: "lf.a2a.v1.TaskStatus", state: TaskState.SUBMITTED, timestamp: timestampOf(1) },
    artifacts: [],
    history: [first],
  },
}));

const followUp: fc.Arbitrary<Draft["event"]> = message(Role.USER).map((value) => ({ case: "message", value }));

const status = (states: TaskState[]): fc.Arbitrary<Draft["event"]> =>
  fc
    .record({
      state: fc.constantFrom(...states),
      said: fc.option(message(Role.AGENT), { nil: undefined }),
      metadata: fc.option(fc.dictionary(fc.constantFrom("k", "l", "__proto__"), fc.jsonValue({ maxDepth: 2 })), {
        nil: undefined,
        freq: 4,
      }),
    })
    .map(({ state, said, metadata }) => ({
      case: "status",
      value: create(TaskStatusUpdateEventSchema, {
        ...place,
        ...(metadata === undefined ? {} : { metadata: metadata as JsonObject }),
        status: { state, timestamp: timestampOf(2), ...(said === undefined ? {} : { message: said }) },
      }),
    }));

const artifact: fc.Arbitrary<Draft["event"]> = fc
  .record({
    id: fc.constantFrom("a", "b", "c"),
    name: fc.constantFrom("", "one", "two"),
    append: fc.boolean(),
    list: parts,
    metadata: fc.option(fc.dictionary(fc.constantFrom("k", "l"), fc.integer()), { nil: undefined }),
    extensions: fc.uniqueArray(fc.constantFrom("urn:x", "urn:y"), { maxLength: 2 }),
  })
  .map(({ id, name, append, list, metadata, extensions }) => ({
    case: "artifact",
    value: create(TaskArtifactUpdateEventSchema, {
      ...place,
      append,
      artifact: create(ArtifactSchema, {
        artifactId: id,
        name,
        parts: list,
        extensions,
        ...(metadata === undefined ? {} : { metadata }),
      }),
    }),
  }));

/** The turn and the number of its call are set where the place in the log is known. */
const step: fc.Arbitrary<Draft["event"]> = fc
  .record({
    name: fc.constantFrom("plan", "search"),
    perTask: fc.boolean(),
    overlaps: fc.boolean(),
    value: fc.string(),
  })
  .map(({ value, ...names }) => ({
    case: "step",
    value: create(StepSchema, { ...names, outcome: { case: "result", value: JSON.stringify(value) } }),
  }));

const note: fc.Arbitrary<Draft["event"]> = fc.constant({ case: "note", value: create(EmptySchema) });

const open = [TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED];
const over = [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED];

/** Any legal log of one task. */
export const log: fc.Arbitrary<LogEntry[]> = fc
  .tuple(
    created,
    fc.array(fc.oneof(status(open), artifact, followUp, step, note), { maxLength: 40 }),
    fc.option(status(over), { nil: undefined }),
  )
  .map(([first, middle, last]) => {
    let generation = 0;
    let turn = 1;
    let call = 0;
    return [first, ...middle, ...(last === undefined ? [] : [last])].map((event, index) => {
      if (countsAsGeneration(event)) generation++;
      if (event.case === "message") [turn, call] = [index + 1, 0];
      if (event.case === "step") Object.assign(event.value, { turn, call: ++call });
      return placeDraft({ event, time: 1_000 + index, size: 0 }, index + 1, generation);
    });
  });
