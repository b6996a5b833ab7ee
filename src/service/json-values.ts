import type { JsonValue } from "@bufbuild/protobuf";
import type { Value } from "@bufbuild/protobuf/wkt";
import { REQUEST_JSON_LEVELS } from "../core/nesting.js";

/**
 * Binary requests can carry values that JSON cannot express: numbers that are not finite, values without a kind, and
 * nesting deeper than a stored entry allows. Every binding refuses them (specification 5.1).
 */

const tooDeep = `is nested more than ${REQUEST_JSON_LEVELS} levels deep`;
const notFinite = "has a number that is not finite";

/** What is wrong with a `google.protobuf.Value`, or undefined. */
export function valueFault(value: Value, depth = 0): string | undefined {
  const { kind } = value;
  switch (kind.case) {
    case undefined:
      return "has a value without a kind";
    case "numberValue":
      return Number.isFinite(kind.value) ? undefined : notFinite;
    case "structValue":
      return depth >= REQUEST_JSON_LEVELS ? tooDeep : firstInside(kind.value.fields, depth);
    case "listValue":
      return depth >= REQUEST_JSON_LEVELS ? tooDeep : firstFault(kind.value.values, depth);
    default:
      return undefined;
  }
}

function firstInside(fields: Readonly<Record<string, Value>>, depth: number): string | undefined {
  for (const name in fields) {
    const fault = valueFault(fields[name] as Value, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function firstFault(values: readonly Value[], depth: number): string | undefined {
  for (const value of values) {
    const fault = valueFault(value, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** What is wrong with JSON that came as a `google.protobuf.Struct`, or undefined. */
export function jsonFault(json: JsonValue | undefined, depth = 0): string | undefined {
  if (typeof json === "number") return Number.isFinite(json) ? undefined : notFinite;
  if (typeof json !== "object" || json === null) return undefined;
  if (depth >= REQUEST_JSON_LEVELS) return tooDeep;
  for (const inner of Object.values(json)) {
    const fault = jsonFault(inner, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
