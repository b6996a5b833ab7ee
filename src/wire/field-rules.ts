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
import { isRecord, membersOf } from "../core/members.js";

/** Returns true if the contract marks the field as REQUIRED (`google.api.field_behavior`, specification 5.7). */
export function isRequired(field: DescField): boolean {
  return getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
}

/**
 * Returns true for a field that JSON contains even at its default: REQUIRED fields (specification 5.7), and the list of
 * a list method's answer, which many clients read without checking.
 */
export function isAlwaysWritten(field: DescField): boolean {
  return isRequired(field) || (field.fieldKind === "list" && /^List\w+Response$/.test(field.parent.name));
}

/**
 * Returns true for a field that is absent exactly when it has its default: lists, maps, and scalars without `optional`.
 */
export function hasImplicitPresence(field: DescField): boolean {
  return field.presence === FeatureSet_FieldPresence.IMPLICIT;
}

/**
 * Returns true for a message field held as a plain object: google.protobuf.Struct everywhere except in
 * google.protobuf.Value.
 */
export function holdsJsonObject(field: DescField): boolean {
  return field.message?.typeName === "google.protobuf.Struct" && field.parent?.typeName !== "google.protobuf.Value";
}

/** Types with a special JSON form that the contract does not use, or uses only in errors. */
const rare = new Set(["Any", "Duration", "FieldMask"].map((name) => `google.protobuf.${name}`));

/**
 * Returns true if protobuf-es handles the JSON of a message: for the rare types, and for types other than proto3, whose
 * set fields depend on the message's prototype.
 */
export function isLeftToLibrary(desc: DescMessage): boolean {
  return rare.has(desc.typeName) || isWrapperDesc(desc) || desc.file.edition !== Edition.EDITION_PROTO3;
}

/**
 * Returns the scalar that represents google.protobuf.StringValue and similar types in a message. Undefined in lists,
 * maps and one-ofs.
 */
export function unwrapped(field: DescField): ScalarType | undefined {
  const isBare = field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(field.message);
  return isBare ? field.message.fields[0]?.scalar : undefined;
}

/** Returns the test for the default value of a field without presence. */
export function zeroTest(field: DescField): (value: unknown) => boolean {
  if (field.fieldKind === "list") return (value) => listIn(value).length === 0;
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
      return (value) => value instanceof Uint8Array && value.length === 0;
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return (value) => Object.is(value, 0); // -0 is a value
    default:
      return (value) => value === 0 || value === 0n || value === "0"; // 64-bit values are bigint or text
  }
}

function isEmptyObject(value: unknown): boolean {
  for (const _ in membersOf(value)) return false;
  return true;
}

/** Getter and setter of one field for messages of its type. */
export interface FieldAccess {
  /**
   * Returns the value of the field, or undefined if it is not set. A field without presence is set if it differs from
   * its default.
   */
  readonly get: (message: Message) => unknown;
  readonly set: (message: Message, value: unknown) => void;
}

type Fields = Record<string, unknown>;

/** Returns the items of a list. Throws a TypeError for any other value. */
export function listIn(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError("a list is missing");
  return value;
}

/** Returns the chosen field of a one-of and its value. Throws a TypeError for a message without the one-of. */
export function choiceIn(oneof: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(oneof)) throw new TypeError("a one-of is missing");
  return oneof;
}

/** Returns the value of a field as the message holds it; undefined for another choice of a one-of. */
export function fieldValue(message: Message, { localName, oneof }: DescField): unknown {
  const fields: Fields = message;
  if (oneof === undefined) return fields[localName];
  const chosen = membersOf(fields[oneof.localName]);
  return chosen.case === localName ? chosen.value : undefined;
}

/** Returns the getter and setter of a field, including a field of a one-of. */
export function accessTo(field: DescField): FieldAccess {
  const { localName: name, oneof } = field;
  if (oneof !== undefined) {
    return {
      get: (message) => fieldValue(message, field),
      set: (message, value) => {
        const fields: Fields = message;
        fields[oneof.localName] = { case: name, value };
      },
    };
  }
  const isUnset = hasImplicitPresence(field) ? zeroTest(field) : () => false;
  return {
    get: (message) => {
      const value = fieldValue(message, field);
      return isUnset(value) ? undefined : value;
    },
    set: (message, value) => {
      const fields: Fields = message;
      fields[name] = value;
    },
  };
}

/** Returns true if the contract declares a method read-only, by its idempotency level or by an HTTP rule with GET. */
export function isSideEffectFree(method: DescMethod): boolean {
  if (method.methodKind !== "unary") return false;
  if (method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS) return true;
  return getOption(method, http).pattern.case === "get";
}

const unchanged = (message: Message): Message => message;

/**
 * Adjusts a request that arrived as protobuf: a `page_size` of 0 counts as not set (AIP-158), because clients in
 * languages without absent numbers always send it. In JSON and in queries the client wrote the 0, so it is out of range
 * like every other number outside 1 to 100 (specification 3.1.4, 6.5).
 */
export function protobufRequest(desc: DescMessage): (message: Message) => Message {
  const field = desc.fields.find(({ name }) => name === "page_size");
  if (field === undefined || hasImplicitPresence(field)) return unchanged;
  const { localName } = field;
  return (message) => {
    const fields: Fields = message;
    if (fields[localName] === 0) fields[localName] = undefined;
    return message;
  };
}
