import type { Message as AnyMessage } from "@bufbuild/protobuf";
import { type Part, Role, type Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { membersOf } from "../../core/members.js";
import type { Update } from "../../task/answer.js";
import { isInterrupted } from "../../task/state.js";

/**
 * Yields the updates of a resumed answer until it is complete, including that of a task that already waited for its
 * client. `follow` would wait for the next answer, which the client cannot request meanwhile.
 */
export async function* answerOf(updates: AsyncIterable<Update>): AsyncGenerator<Update, void, undefined> {
  let isFirst = true;
  for await (const update of updates) {
    const isOver = isFirst && update.task !== undefined && waits(update.task);
    isFirst = false;
    yield update;
    if (isOver) return;
  }
}

/**
 * True if a task waits for a message of its client. A message already sent after the question will be answered by later
 * events.
 */
export function waits({ status, history }: Task): boolean {
  if (status === undefined || !isInterrupted(status.state)) return false;
  const asked = history.findIndex(({ messageId }) => messageId === status.message?.messageId);
  return asked < 0 || history.findLastIndex(({ role }) => role === Role.USER) < asked;
}

/** True for a part that is not text: data or a file. */
export function isOther({ content }: Part): boolean {
  return content.case !== "text";
}

/**
 * Compares two messages of one type, like `equals` of protobuf-es. Messages of proto3 are plain objects, which are
 * compared directly. Unknown fields (`$unknown`) and the order of members are ignored.
 */
export function isSameMessage<M extends AnyMessage>(one: M, other: M): boolean {
  return isSameValue(one, other);
}

function isSameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (isList(one) || isList(other)) return isList(one) && isList(other) && isSameList(one, other);
  const names = memberNames(one);
  return (
    names.length === memberNames(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSameValue(valueIn(one, name), valueIn(other, name)))
  );
}

type List = Uint8Array | readonly unknown[];

/** Messages contain nothing with a length besides lists and bytes. */
function isList(value: object): value is List {
  return Array.isArray(value) || value instanceof Uint8Array;
}

function isSameList(one: List, other: List): boolean {
  return one.length === other.length && one.every((item: unknown, i: number) => isSameValue(item, other[i]));
}

function memberNames(value: object): string[] {
  return Object.keys(value).filter((name) => name !== "$unknown" && valueIn(value, name) !== undefined);
}

function valueIn(value: object, name: string): unknown {
  return membersOf(value)[name];
}
