import { create } from "@bufbuild/protobuf";
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
import type { LogEntry } from "../../gen/parley/log/v1/log_pb.js";
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
    .record({ state: fc.constantFrom(...states), said: fc.option(message(Role.AGENT), { nil: undefined }) })
    .map(({ state, said }) => ({
      case: "status",
      value: create(TaskStatusUpdateEventSchema, {
        ...place,
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

const open = [TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED];
const over = [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED];

/** Any legal log of one task. */
export const log: fc.Arbitrary<LogEntry[]> = fc
  .tuple(
    created,
    fc.array(fc.oneof(status(open), artifact, followUp), { maxLength: 40 }),
    fc.option(status(over), { nil: undefined }),
  )
  .map(([first, middle, last]) => {
    let generation = 0;
    return [first, ...middle, ...(last === undefined ? [] : [last])].map((event, index) => {
      if (countsAsGeneration(event)) generation++;
      return placeDraft({ event, time: 1_000 + index, size: 0 }, index + 1, generation);
    });
  });
