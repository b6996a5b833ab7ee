import {
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf";
import {
  Edition,
  FeatureSet_FieldPresence,
  isWrapperDesc,
  MethodOptions_IdempotencyLevel,
} from "@bufbuild/protobuf/wkt";
import { http } from "../../gen/google/api/annotations_pb.js";
import { FieldBehavior, field_behavior } from "../../gen/google/api/field_behavior_pb.js";

/** Whether the contract marks the field as REQUIRED (`google.api.field_behavior`, specification 5.7). */
export function isRequired(field: DescField): boolean {
  return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}

/**
 * Tells if JSON has the field at its default too: REQUIRED fields (specification 5.7), and the list in the answer of a list, which many
 * clients read without checking.
 */
export function isAlwaysWritten(field: DescField): boolean {
  return isRequired(field) || (field.fieldKind === "list" && /^List\w+Response$/.test(field.parent.name));
}

/** Whether a field is absent exactly when it is at its default: lists, maps, and scalars without `optional`. */
export function hasImplicitPresence(field: DescField): boolean {
  return field.presence === FeatureSet_FieldPresence.IMPLICIT;
}

/** Whether a message field is held as a plain object: google.protobuf.Struct everywhere but in google.protobuf.Value. */
export function holdsJsonObject(field: DescField): boolean {
  return field.message?.typeName === "google.protobuf.Struct" && field.parent?.typeName !== "google.protobuf.Value";
}

/** Types with a JSON form of their own that the contract does not use, or uses in errors alone. */
const rare = new Set(["Any", "Duration", "FieldMask"].map((name) => `google.protobuf.${name}`));

/**
 * Whether the JSON of a message is left to protobuf-es: the rare types, and what is not proto3, where the prototype of
 * a message takes part in telling which fields are set.
 */
export function isLeftToLibrary(desc: DescMessage): boolean {
  return rare.has(desc.typeName) || isWrapperDesc(desc) || desc.file.edition !== Edition.EDITION_PROTO3;
}

/** The scalar that stands in a message for google.protobuf.StringValue and its like: not in lists, maps and one-ofs. */
export function unwrapped(field: DescField): ScalarType | undefined {
  const isBare = field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(field.message);
  return isBare ? field.message.fields[0]?.scalar : undefined;
}

/** What tells a value from its default, for a field without presence. */
export function zeroTest(field: DescField): (value: unknown) => boolean {
  if (field.fieldKind === "list") return (value) => (value as unknown[]).length === 0;
  if (field.fieldKind === "map") return isEmptyObject;
  if (field.fieldKind === "enum") {
    const first = field.enum.values[0]?.number;
    return (value) => value === first;
  }
  switch (field.scalar) {
    case ScalarType.STRING:
      return (value) => value === "";
    case ScalarType.BOOL:
      return (value) => value === false;
    case ScalarType.BYTES:
      return (value) => (value as Uint8Array).length === 0;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return (value) => Object.is(value, 0); // -0 is a value
    default:
      return (value) => value === 0 || value === 0n || value === "0"; // 64 bits come as bigint or text
  }
}

function isEmptyObject(value: unknown): boolean {
  for (const _ in value as object) return false;
  return true;
}

/** Gets and sets one field of any message of its type. */
export interface FieldAccess {
  /** The value of a field that is set, else undefined. A field without presence is set when it is not at its default. */
  readonly get: (message: Message) => unknown;
  readonly set: (message: Message, value: unknown) => void;
}

type Fields = Record<string, unknown>;
const fieldsOf = (message: Message): Fields => message as unknown as Fields;

/** Access to a field, one-of members included. */
export function accessTo(field: DescField): FieldAccess {
  const { localName: name, oneof } = field;
  if (oneof !== undefined) {
    return {
      get: (message) => {
        const chosen = fieldsOf(message)[oneof.localName] as { case?: string; value?: unknown };
        return chosen.case === name ? chosen.value : undefined;
      },
      set: (message, value) => {
        fieldsOf(message)[oneof.localName] = { case: name, value };
      },
    };
  }
  const isUnset = hasImplicitPresence(field) ? zeroTest(field) : () => false;
  return {
    get: (message) => {
      const value = fieldsOf(message)[name];
      return isUnset(value) ? undefined : value;
    },
    set: (message, value) => {
      fieldsOf(message)[name] = value;
    },
  };
}

/** Whether the contract says that a method only reads: by its idempotency level, or by an HTTP rule that is a GET. */
export function isSideEffectFree(method: DescMethod): boolean {
  if (method.methodKind !== "unary") return false;
  if (method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return true;
  return getOption(method, http).pattern.case === "get";
}

const same = (message: Message): Message => message;

/**
 * What becomes of a request that came as protobuf: a `page_size` of 0 counts as not set (AIP-158), as clients whose
 * language has no absence for numbers send it whether they mean it or not. In JSON and in queries a 0 is there only
 * because somebody wrote it, and is out of range like every other number beside 1 to 100 (specification 3.1.4, 6.5).
 */
export function protobufRequest(desc: DescMessage): (message: Message) => Message {
  const field = desc.fields.find(({ name }) => name === "page_size");
  if (field === undefined || hasImplicitPresence(field)) return same;
  const { localName } = field;
  return (message) => {
    const fields = message as unknown as Record<string, unknown>;
    if (fields[localName] === 0) fields[localName] = undefined;
    return message;
  };
}
