/**
 * Arrays in PostgreSQL's binary format, which the driver passes on as they are. The text format would escape every
 * value, and write bytes as hexadecimal digits.
 */

/** Numbers of the element types (`pg_type.oid`). */
const BOOL = 16;
const BYTEA = 17;
const INT8 = 20;
const INT2 = 21;
const INT4 = 23;
const TEXT = 25;

/** An array of texts; undefined is NULL. */
export function texts(values: readonly (string | undefined)[]): Buffer {
  const sizes = values.map((value) => (value === undefined ? -1 : Buffer.byteLength(value)));
  return array(TEXT, sizes, (target, at, index) => void target.write(values[index] ?? "", at));
}

/** An array of bytes; undefined is NULL. */
export function byteArrays(values: readonly (Uint8Array | undefined)[]): Buffer {
  const sizes = values.map((value) => value?.length ?? -1);
  return array(BYTEA, sizes, (target, at, index) => target.set(values[index] ?? [], at));
}

/** An array of `bigint`; undefined is NULL. */
export function bigints(values: readonly (number | undefined)[]): Buffer {
  return array(
    INT8,
    fixed(values, 8),
    (target, at, index) => void target.writeBigInt64BE(BigInt(values[index] ?? 0), at),
  );
}

/** An array of `integer`; undefined is NULL. */
export function integers(values: readonly (number | undefined)[]): Buffer {
  return array(INT4, fixed(values, 4), (target, at, index) => void target.writeInt32BE(values[index] ?? 0, at));
}

/** An array of `smallint`. */
export function smallints(values: readonly number[]): Buffer {
  return array(INT2, fixed(values, 2), (target, at, index) => void target.writeInt16BE(values[index] ?? 0, at));
}

/** An array of `boolean`; undefined is NULL. */
export function booleans(values: readonly (boolean | undefined)[]): Buffer {
  return array(BOOL, fixed(values, 1), (target, at, index) => void target.writeInt8(Number(values[index]), at));
}

/** An array without any value is sent as NULL, which `unnest` fills up with NULLs. */
export function sparse<T>(
  values: readonly (T | undefined)[],
  encode: (values: readonly (T | undefined)[]) => Buffer,
): Buffer | null {
  return values.every((value) => value === undefined) ? null : encode(values);
}

function fixed(values: readonly unknown[], size: number): number[] {
  return values.map((value) => (value === undefined ? -1 : size));
}

/** @param sizes bytes of each element; -1 for NULL */
function array(
  type: number,
  sizes: readonly number[],
  write: (target: Buffer, at: number, index: number) => void,
): Buffer {
  const bytes = sizes.reduce((sum, size) => sum + 4 + Math.max(0, size), 0);
  const target = Buffer.allocUnsafe(20 + bytes);
  // Dimensions, "has NULLs", element type, length, index of the first element.
  [1, Number(sizes.includes(-1)), type, sizes.length, 1].forEach((field, index) => {
    target.writeInt32BE(field, index * 4);
  });
  let at = 20;
  for (const [index, size] of sizes.entries()) {
    at = target.writeInt32BE(size, at);
    if (size < 0) continue;
    write(target, at, index);
    at += size;
  }
  return target;
}
