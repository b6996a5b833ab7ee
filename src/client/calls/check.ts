import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { invalid, type Violation } from "../../core/error.js";
import { holdsJsonObject } from "../../wire/field-rules.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { MESSAGE_LEVELS } from "../../wire/nesting.js";

/** Maximum number of violations in an error. */
const MAX_TOLD = 10;

type Values = Readonly<Record<string, unknown>>;

/** Location of a value in a request. Its path is only built for a violation. */
interface ValuePath {
  readonly above: ValuePath | undefined;
  /** Name of a member, or index of an item. */
  readonly name: string | number;
  readonly level: number;
}

const top: ValuePath = { above: undefined, name: "", level: 0 };

/**
 * Checks the types of a request's values before it is written. Untyped callers may pass any value, which bindings would
 * reject or misread.
 *
 * @throws A2AError INVALID_PARAMS that names the fields
 */
export function checkRequest(desc: DescMessage, request: unknown): void {
  const faults: Violation[] = [];
  checkMessage(desc, request, top, faults);
  if (faults.length > 0) throw invalid(faults.slice(0, MAX_TOLD));
}

function checkMessage(desc: DescMessage, message: unknown, place: ValuePath, faults: Violation[]): void {
  if (!isJsonObject(message)) {
    return fault(faults, place, place.above === undefined ? "the request must be an object" : "must be an object");
  }
  if (place.level > MESSAGE_LEVELS) return fault(faults, place, "is nested too deep");
  for (const field of desc.fields) {
    const value = fieldValue(field, message);
    // An initializer may have null for an absent field.
    if (value === undefined || (value === null && message.$typeName === undefined)) continue;
    checkField(field, value, { above: place, name: field.jsonName, level: place.level + 1 }, faults);
    if (faults.length >= MAX_TOLD) return;
  }
}

function fieldValue({ localName, oneof }: DescField, message: Values): unknown {
  if (oneof === undefined) return message[localName];
  const choice = message[oneof.localName];
  return isJsonObject(choice) && choice.case === localName ? choice.value : undefined;
}

function checkField(field: DescField, value: unknown, place: ValuePath, faults: Violation[]): void {
  if (field.fieldKind === "list") {
    if (!Array.isArray(value)) return fault(faults, place, "must be a list");
    for (let i = 0; i < value.length && faults.length < MAX_TOLD; i++) {
      checkValue(field, value[i], { above: place, name: i, level: place.level }, faults);
    }
  } else if (field.fieldKind === "map") {
    if (!isJsonObject(value)) return fault(faults, place, "must be an object");
    for (const name of Object.keys(value)) {
      checkValue(field, value[name], { above: place, name, level: place.level }, faults);
    }
  } else checkValue(field, value, place, faults);
}

function checkValue(field: DescField, value: unknown, place: ValuePath, faults: Violation[]): void {
  if (field.message !== undefined) {
    if (!holdsJsonObject(field)) return checkMessage(field.message, value, place, faults);
    if (!isJsonObject(value)) return fault(faults, place, "must be an object");
    return checkJsonValue(value, place, faults);
  }
  const expected = field.scalar === undefined ? whole(value) : scalarFault(field.scalar, value);
  const isInJson = field.parent.typeName === "google.protobuf.Value" && typeof value === "number";
  if (expected !== undefined) fault(faults, place, `must be ${expected}`);
  else if (isInJson && !Number.isFinite(value)) fault(faults, place, "must be a finite number");
}

/** Returns the expected type of a scalar, or undefined if the value has it. */
function scalarFault(scalar: ScalarType, value: unknown): string | undefined {
  switch (scalar) {
    case ScalarType.STRING:
      return typeof value === "string" ? undefined : "a text";
    case ScalarType.BOOL:
      return typeof value === "boolean" ? undefined : "true or false";
    case ScalarType.BYTES:
      return value instanceof Uint8Array ? undefined : "bytes (Uint8Array)";
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return typeof value === "number" ? undefined : "a number";
    default:
      return typeof value === "bigint" ? undefined : whole(value);
  }
}

const whole = (value: unknown): string | undefined => (Number.isSafeInteger(value) ? undefined : "a whole number");

/** Checks a value that must be valid JSON. */
function checkJsonValue(value: unknown, place: ValuePath, faults: Violation[]): void {
  if (faults.length >= MAX_TOLD || value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number")
    return Number.isFinite(value) ? undefined : fault(faults, place, "must be a finite number");
  if (typeof value !== "object") return fault(faults, place, `must be a value of JSON, not of type ${typeof value}`);
  const level = place.level + 2;
  if (level > MESSAGE_LEVELS) return fault(faults, place, "is nested too deep");
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) checkJsonValue(value[i], { above: place, name: i, level }, faults);
    return;
  }
  for (const [name, each] of Object.entries(value)) {
    if (each !== undefined) checkJsonValue(each, { above: place, name, level }, faults);
  }
}

function fault(faults: Violation[], place: ValuePath, description: string): void {
  faults.push({ field: pathText(place), description });
}

function pathText({ above, name }: ValuePath): string {
  const path = above === undefined ? "" : pathText(above);
  if (typeof name === "number") return `${path}[${name}]`;
  return path === "" ? name : `${path}.${name}`;
}
