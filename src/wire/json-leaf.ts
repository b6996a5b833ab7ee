import { type DescEnum, type DescField, ScalarType } from "@bufbuild/protobuf";
import { fromBase64 } from "../core/bytes.js";
import { unwrapped } from "./field-rules.js";
import { parseTimestamp } from "./json-text.js";

/** Reads values that are one JSON string, number or boolean. */
export interface Leaf {
  /** Returns the field's value, or undefined if the JSON value does not fit. */
  readonly read: (json: unknown) => unknown;
  /** Description of valid values, for the violation: `must be a string`. */
  readonly expectation: string;
  /** Converts a string that does not fit, for a tolerant reader. Default: the tolerant reader rejects it too. */
  readonly tolerate?: (text: string) => unknown;
}

/**
 * Returns the leaf of a field (or of the items of a list or map). Undefined if the field holds messages with members.
 */
export function leafOf(field: DescField): Leaf | undefined {
  if (field.enum !== undefined) return enumLeaf(field.enum);
  if (field.message === undefined) return scalarLeaf(field.scalar, field.fieldKind !== "map" && field.longAsString);
  if (field.message.typeName === "google.protobuf.Timestamp") return timestampLeaf;
  const scalar = unwrapped(field);
  return scalar === undefined ? undefined : scalarLeaf(scalar);
}

/** google.protobuf.Timestamp. */
export const timestampLeaf: Leaf = {
  read: (json) => (typeof json === "string" ? parseTimestamp(json) : undefined),
  expectation: "must be an ISO 8601 timestamp such as 2025-10-28T10:30:00.000Z",
  // A timestamp without a zone is read as UTC; any other invalid text counts as absent.
  tolerate: (text) => parseTimestamp(`${text}Z`),
};

const text: Leaf = {
  read: (json) => (typeof json === "string" && isUnicode(json) ? json : undefined),
  expectation: "must be a string of Unicode characters",
  // A lone surrogate, whose other half is in the next chunk of the text.
  tolerate: (half) => half,
};

const boolean: Leaf = {
  read: (json) => (typeof json === "boolean" ? json : undefined),
  expectation: "must be true or false",
};

const bytes: Leaf = { read: readBytes, expectation: "must be a string in base64" };

const int32 = integer(-(2 ** 31), 2 ** 31 - 1);
const uint32 = integer(0, 2 ** 32 - 1);

/** The leaf of a scalar type, also for the keys of a map. */
export function scalarLeaf(type: ScalarType, longAsString = false): Leaf {
  switch (type) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return boolean;
    case ScalarType.BYTES:
      return bytes;
    case ScalarType.DOUBLE:
      return { read: readFloat, expectation: "must be a number" };
    case ScalarType.FLOAT:
      return { read: readFloat32, expectation: "must be a number of 32 bits" };
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return long(BigInt.asIntN, longAsString);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return long(BigInt.asUintN, longAsString);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return uint32;
    default:
      return int32;
  }
}

/** An enum by name or number. Unknown numbers are kept; unknown names are rejected. */
function enumLeaf(desc: DescEnum): Leaf {
  const numbers = new Map<unknown, number>(desc.values.map((value) => [value.name, value.number]));
  if (desc.typeName === "google.protobuf.NullValue") numbers.set(null, 0);
  return {
    read: (json) => numbers.get(json) ?? (typeof json === "number" ? int32.read(json) : undefined),
    expectation: `must be one of ${choices(desc).join(", ")}`,
    // A name from a later contract counts as "unspecified".
    tolerate: () => 0,
  };
}

/** Names that a client may choose, without the unspecified value. */
function choices({ values }: DescEnum): string[] {
  return values.map(({ name }) => name).filter((name) => !name.endsWith("_UNSPECIFIED"));
}

const decimal = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

/** Reads JSON numbers, and strings that hold a number, which ProtoJSON accepts everywhere. */
function readNumber(json: unknown): number | undefined {
  if (typeof json === "number") return json;
  return typeof json === "string" && decimal.test(json) ? Number(json) : undefined;
}

function integer(min: number, max: number): Leaf {
  return {
    read: (json) => {
      const value = readNumber(json);
      // Adding zero turns -0 into 0.
      return typeof value === "number" && Number.isInteger(value) && value >= min && value <= max
        ? value + 0
        : undefined;
    },
    expectation: `must be a whole number from ${min} to ${max}`,
  };
}

function readFloat(json: unknown): number | undefined {
  if (json === "NaN" || json === "Infinity" || json === "-Infinity") return Number(json);
  const value = readNumber(json);
  return Number.isFinite(value) ? value : undefined;
}

function readFloat32(json: unknown): number | undefined {
  const value = readFloat(json);
  return typeof json === "string" || value === undefined || Number.isFinite(Math.fround(value)) ? value : undefined;
}

function long(wrap: (bits: number, value: bigint) => bigint, asString: boolean): Leaf {
  const read = (json: unknown): unknown => {
    const value = typeof json === "bigint" ? json : toBigInt(json);
    if (value === undefined || wrap(64, value) !== value) return undefined;
    return asString ? `${value}` : value;
  };
  return { read, expectation: "must be a whole number of 64 bits, as a string" };
}

function toBigInt(json: unknown): bigint | undefined {
  if (typeof json === "string" && /^-?\d{1,20}$/.test(json)) return BigInt(json);
  return typeof json === "number" && Number.isSafeInteger(json) ? BigInt(json) : undefined;
}

const base64 = /^[A-Za-z0-9+/_-]*(={0,2})$/;

/** Reads base64 of either alphabet, padded or not (ProtoJSON). */
function readBytes(json: unknown): Uint8Array | undefined {
  if (typeof json !== "string") return undefined;
  const padding = base64.exec(json)?.[1];
  if (padding === undefined) return undefined;
  if (padding === "" ? json.length % 4 === 1 : json.length % 4 !== 0) return undefined;
  return fromBase64(json);
}

/** Returns false for a string with a lone surrogate, which UTF-8 and therefore the log cannot represent. */
export function isUnicode(value: string): boolean {
  return (value as string & { isWellFormed(): boolean }).isWellFormed();
}
