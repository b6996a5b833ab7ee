import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { Role, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { anyMessage } from "../../wire/arbitrary.js";

type Fields = Record<string, unknown>;

/**
 * Changes to a message of 1.0 on its way to 0.3 and back: fields that 0.3 does not have are lost, and defaults are
 * filled in.
 */
const losses: Readonly<Record<string, (message: Fields, dialect: Dialect) => void>> = {
  Message: (message, { hasReferences }) => {
    message.role = message.role === Role.USER ? Role.USER : Role.AGENT;
    if (!hasReferences) message.referenceTaskIds = [];
  },
  Part: (message) => {
    const { case: name, value } = message.content as { case?: string; value?: Value };
    if (name === "text" || name === "data") Object.assign(message, { filename: "", mediaType: "" });
    // On the way, the metadata noted that the data is not an object.
    const isWrapped = name === "data" && value?.kind.case !== "structValue";
    if (isWrapped && Object.keys(message.metadata ?? {}).length === 0) delete message.metadata;
  },
  TaskStatus: (message) => {
    if (TaskState[message.state as number] === undefined) message.state = TaskState.UNSPECIFIED;
  },
  TaskPushNotificationConfig: (message) => {
    if ((message.authentication as { scheme?: string } | undefined)?.scheme === "") message.authentication = undefined;
  },
  SendMessageConfiguration: ({ taskPushNotificationConfig: config }) => {
    if (config !== undefined) Object.assign(config as object, { taskId: "" });
  },
  ListTaskPushNotificationConfigsResponse: (message, { hasPages }) => {
    if (!hasPages) message.nextPageToken = "";
  },
  "google.protobuf.Timestamp": (message) => {
    message.nanos = Math.floor((message.nanos as number) / 1_000_000) * 1_000_000;
  },
};

/** Differences between the two dialects of 0.3. */
export interface Dialect {
  readonly hasReferences: boolean;
  readonly hasPages: boolean;
  /** True if the dialect writes a missing status as an unknown one. */
  readonly fillsStatus: boolean;
}

/** A message of 1.0 without the fields that are lost on its way to 0.3 and back. */
export function withoutLosses<M extends Message>(desc: DescMessage, original: M, dialect: Dialect): M {
  const message = { ...original } as unknown as Fields;
  for (const field of desc.fields) visit(field, message, dialect);
  if ("tenant" in message) message.tenant = "";
  if (dialect.fillsStatus && desc.field.status?.message?.name === "TaskStatus") {
    message.status ??= { $typeName: "lf.a2a.v1.TaskStatus", state: TaskState.UNSPECIFIED };
  }
  losses[desc.typeName.replace("lf.a2a.v1.", "")]?.(message, dialect);
  return message as unknown as M;
}

function visit(field: DescField, message: Fields, dialect: Dialect): void {
  const { message: desc, localName, oneof, fieldKind } = field;
  if (desc === undefined || fieldKind === "map" || desc.typeName === "google.protobuf.Struct") return;
  if (desc.typeName === "google.protobuf.Value") return;
  const stripped = (value: unknown) => withoutLosses(desc, value as Message, dialect);
  if (oneof !== undefined) {
    const chosen = message[oneof.localName] as { case?: string; value?: unknown };
    if (chosen.case === localName) message[oneof.localName] = { case: localName, value: stripped(chosen.value) };
  } else if (fieldKind === "list") message[localName] = (message[localName] as unknown[]).map(stripped);
  else if (message[localName] !== undefined) message[localName] = stripped(message[localName]);
}

/** True if every part and payload in a message has content; 0.3 cannot express others. */
function isSayable(value: unknown): boolean {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return true;
  const { $typeName: type, content, payload } = value as { $typeName?: string; content?: Fields; payload?: Fields };
  if (type === "lf.a2a.v1.Part" && content?.case === undefined) return false;
  if (payload !== undefined && payload.case === undefined && type?.startsWith("lf.") === true) return false;
  return Object.values(value).every(isSayable);
}

/** Messages of 1.0 that 0.3 can express. */
export function sayable(desc: DescMessage): fc.Arbitrary<Message> {
  return anyMessage(desc).filter(isSayable);
}

/** JSON of 0.3 as a caller may write it, and the JSON that remains after 1.0. */
export interface Pair {
  readonly json: unknown;
  readonly expected: unknown;
}

const same = (json: fc.Arbitrary<unknown>): fc.Arbitrary<Pair> =>
  json.map((value) => ({ json: value, expected: value }));
const name = fc.string({ minLength: 1, maxLength: 6 });
const metadata = fc.dictionary(name, fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)), {
  maxKeys: 2,
  noNullPrototype: true,
});
const dropEmpty = (list: fc.Arbitrary<unknown[]>): fc.Arbitrary<Pair> =>
  list.map((json) => ({ json, expected: json.length === 0 ? undefined : json }));
const optionalText: fc.Arbitrary<Pair> = fc
  .string({ maxLength: 5 })
  .map((json) => ({ json, expected: json === "" ? undefined : json }));

/** An object, of which some members may be left out, others have to be there, and null is as good as nothing. */
function object(
  required: Record<string, fc.Arbitrary<Pair>>,
  optional: Record<string, fc.Arbitrary<Pair>>,
): fc.Arbitrary<Pair> {
  const nullable = Object.fromEntries(
    Object.entries(optional).map(([key, pair]) => [
      key,
      fc.option(pair, { nil: { json: null, expected: undefined } as Pair, freq: 8 }),
    ]),
  );
  return fc
    .record({ ...required, ...nullable }, { requiredKeys: Object.keys(required) })
    .map((pairs) => ({ json: of(pairs, "json"), expected: of(pairs, "expected") }));
}

function of(pairs: Record<string, Pair | undefined>, side: keyof Pair): Fields {
  const entries = Object.entries(pairs).filter(([, pair]) => pair !== undefined && pair[side] !== undefined);
  return Object.fromEntries(entries.map(([key, pair]) => [key, (pair as Pair)[side]]));
}

function list(item: fc.Arbitrary<Pair>, keep = true): fc.Arbitrary<Pair> {
  return fc.array(item, { maxLength: 3 }).map((pairs) => ({
    json: pairs.map(({ json }) => json),
    expected: pairs.length === 0 && !keep ? undefined : pairs.map(({ expected }) => expected),
  }));
}

const kind = (word: string): fc.Arbitrary<Pair> => fc.constant({ json: word, expected: word });
/** A word that the JSON may omit; the reader fills it in. */
const filled = (word: string): fc.Arbitrary<Pair> =>
  fc.constantFrom(undefined, word).map((json) => ({ json, expected: word }));
const unknown: fc.Arbitrary<Pair> = fc.jsonValue().map((json) => ({ json, expected: undefined }));

const bytes = fc.uint8Array({ maxLength: 9 }).chain((raw) => {
  const expected = Buffer.from(raw).toString("base64");
  const urlSafe = Buffer.from(raw).toString("base64url");
  return fc.constantFrom(expected, urlSafe).map((json) => ({ json, expected }));
});
const about = { name: optionalText, mimeType: optionalText };
const free = { metadata: same(metadata) };
const file = fc.oneof(object({ bytes }, about), object({ uri: same(name) }, about));

export const part: fc.Arbitrary<Pair> = fc.oneof(
  object({ kind: kind("text"), text: same(fc.string()) }, { ...free, x: unknown }),
  object({ kind: kind("file"), file }, free),
  object({ kind: kind("data"), data: same(metadata) }, free),
);

export const message: fc.Arbitrary<Pair> = object(
  {
    kind: filled("message"),
    messageId: same(name),
    role: same(fc.constantFrom("user", "agent")),
    parts: list(part),
  },
  {
    contextId: optionalText,
    taskId: optionalText,
    referenceTaskIds: dropEmpty(fc.array(fc.string(), { maxLength: 2 })),
    extensions: dropEmpty(fc.array(fc.string(), { maxLength: 2 })),
    metadata: same(metadata),
    x: unknown,
  },
);

const moment = fc.integer({ min: 0, max: 4_000_000_000_000 }).chain((time) => {
  const expected = new Date(time).toISOString();
  const offset = `${new Date(time + 5_400_000).toISOString().slice(0, -1)}+01:30`;
  return fc.constantFrom(expected, expected.slice(0, -1), offset).map((json) => ({ json, expected }));
});

const states = [
  "submitted",
  "working",
  "input-required",
  "completed",
  "canceled",
  "failed",
  "rejected",
  "auth-required",
  "unknown",
];
const status = object({ state: same(fc.constantFrom(...states)) }, { message, timestamp: moment });

const artifact = object(
  { artifactId: same(name), parts: list(part) },
  {
    name: optionalText,
    description: optionalText,
    metadata: same(metadata),
    extensions: dropEmpty(fc.array(name, { maxLength: 2 })),
  },
);

export const task: fc.Arbitrary<Pair> = object(
  { kind: filled("task"), id: same(name), contextId: same(name), status },
  { artifacts: list(artifact, false), history: list(message, false), metadata: same(metadata), x: unknown },
);

const flag = fc.boolean().map((json) => ({ json, expected: json || undefined }));
const event = { taskId: same(name), contextId: same(name) };
const endings = new Set(states.filter((state) => state !== "submitted" && state !== "working" && state !== "unknown"));

export const statusUpdate: fc.Arbitrary<Pair> = object({ kind: filled("status-update"), ...event, status }, free).map(
  ({ json, expected }) => {
    const final = endings.has((expected as { status: { state: string } }).status.state);
    return { json, expected: { ...(expected as object), final } };
  },
);

export const artifactUpdate: fc.Arbitrary<Pair> = object(
  { kind: filled("artifact-update"), ...event, artifact },
  { append: flag, lastChunk: flag, ...free },
);

const schemes = fc.array(name, { minLength: 1, maxLength: 3 }).map((json) => ({ json, expected: json.slice(0, 1) }));
const authentication = object({ schemes }, { credentials: optionalText });
const push = object({ url: same(name) }, { id: optionalText, token: optionalText, authentication });

export const pushConfig: fc.Arbitrary<Pair> = object(
  { taskId: same(name), pushNotificationConfig: push },
  { x: unknown },
);

const configuration = object(
  { blocking: fc.boolean().map((json) => ({ json, expected: json })) },
  { historyLength: same(fc.nat()), pushNotificationConfig: push, x: unknown },
).chain(({ json, expected }) =>
  fc.array(fc.string(), { maxLength: 2 }).map((modes) => ({
    json: { ...(json as object), ...(modes.length > 0 && { acceptedOutputModes: modes }) },
    expected: { ...(expected as object), acceptedOutputModes: modes },
  })),
);

export const sendParams: fc.Arbitrary<Pair> = object(
  { message },
  { configuration, metadata: same(metadata), tenant: same(name).map(({ json }) => ({ json, expected: undefined })) },
);
