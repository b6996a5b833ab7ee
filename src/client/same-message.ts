import type { Message } from "@bufbuild/protobuf";

/**
 * Whether two messages of one type of the contract say the same, as `equals` of protobuf-es has it: messages of proto3 are plain objects,
 * which can be compared as they are. What nobody knows of them (`$unknown`) does not count, nor does the order of members.
 */
export function isSameMessage<M extends Message>(one: M, other: M): boolean {
  return isSame(one, other);
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (isList(one) || isList(other)) return isList(one) && isList(other) && isSameList(one, other);
  const names = namesOf(one);
  return (
    names.length === namesOf(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(valueIn(one, name), valueIn(other, name)))
  );
}

type List = Uint8Array | readonly unknown[];

/** Of anything that has a length other than lists and bytes there is nothing in a message. */
function isList(value: object): value is List {
  return Array.isArray(value) || value instanceof Uint8Array;
}

function isSameList(one: List, other: List): boolean {
  return one.length === other.length && one.every((item: unknown, i: number) => isSame(item, other[i]));
}

function namesOf(value: object): string[] {
  return Object.keys(value).filter((name) => name !== "$unknown" && valueIn(value, name) !== undefined);
}

function valueIn(value: object, name: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[name];
}
