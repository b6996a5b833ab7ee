import { planSegments, type Segment, writeEntries } from "../segment.js";
import type { AppendRequest } from "../task-store.js";
import type { ArrayWriter } from "./array-writer.js";

/** Highest `integer` of PostgreSQL. */
const MOST_INTEGER = 2 ** 31 - 1;

/** An append with its entries as they are stored. */
export interface EncodedAppend {
  readonly request: AppendRequest;
  readonly segments: readonly Segment[];
}

export const ARGUMENTS = 33;

/** Writes the arguments of the function, in its order: see `appendFunction`. */
export function argumentsOf(batch: readonly EncodedAppend[], to: ArrayWriter): (Buffer | null)[] {
  to.restart();
  const requests = batch.map(({ request }) => request);
  return [
    ...headArguments(requests, to),
    ...sendArguments(requests, to),
    ...restArguments(requests, to),
    ...segmentArguments(batch, to),
  ];
}

function headArguments(of: readonly AppendRequest[], to: ArrayWriter): (Buffer | null)[] {
  const { length } = of;
  return [
    to.texts(length, (index) => of[index]?.head.taskId),
    to.texts(length, (index) => of[index]?.head.tenant),
    to.texts(length, (index) => of[index]?.head.owner),
    to.texts(length, (index) => of[index]?.head.contextId),
    to.smallints(length, (index) => of[index]?.head.state),
    to.bigints(length, (index) => of[index]?.head.statusTime),
    to.bigints(length, (index) => of[index]?.expected),
    to.bigints(length, (index) => of[index]?.head.generation),
    to.bigints(length, (index) => of[index]?.time ?? of[index]?.head.statusTime),
    to.texts(length, (index) => of[index]?.fence?.holder),
    to.integers(length, (index) => of[index]?.fence?.attempt),
    to.texts(length, (index) => of[index]?.lease?.holder),
    to.bigints(length, (index) => of[index]?.lease?.turn),
    to.integers(length, (index) => of[index]?.lease?.attempt),
  ];
}

function sendArguments(of: readonly AppendRequest[], to: ArrayWriter): (Buffer | null)[] {
  const { length } = of;
  if (of.every(({ send }) => send === undefined)) return new Array<null>(6).fill(null);
  return [
    to.texts(length, (index) => of[index]?.send?.key),
    to.texts(length, (index) => of[index]?.send?.tenant),
    to.texts(length, (index) => of[index]?.send?.owner),
    to.texts(length, (index) => of[index]?.send?.fingerprint),
    to.texts(length, (index) => of[index]?.send?.taskId),
    to.bigints(length, (index) => of[index]?.send?.position),
  ];
}

function restArguments(of: readonly AppendRequest[], to: ArrayWriter): (Buffer | null)[] {
  const { length } = of;
  if (of.every(({ conversation, pushConfig }) => conversation === undefined && pushConfig === undefined)) {
    return new Array<null>(9).fill(null);
  }
  return [
    to.bigints(length, (index) => of[index]?.conversation?.expected),
    to.bigints(length, (index) => of[index]?.conversation?.version),
    to.byteArrays(length, (index) => of[index]?.conversation?.bytes),
    to.texts(length, (index) => of[index]?.pushConfig?.configId),
    to.texts(length, (index) => of[index]?.pushConfig?.target),
    to.integers(length, (index) => mostOf(of[index]?.pushConfig?.maxPerTask)),
    to.integers(length, (index) => mostOf(of[index]?.pushConfig?.maxPerOwner)),
    to.booleans(length, (index) => of[index]?.pushConfig && of[index]?.pushConfig?.ofAllTenants === true),
    to.byteArrays(length, (index) => of[index]?.pushConfig?.bytes),
  ];
}

function mostOf(limit: number | undefined): number | undefined {
  return limit === undefined ? undefined : Math.min(limit, MOST_INTEGER);
}

function segmentArguments(batch: readonly EncodedAppend[], to: ArrayWriter): (Buffer | null)[] {
  const numbers: number[] = [];
  const lasts: number[] = [];
  const all: Segment[] = [];
  for (const [index, { request, segments }] of batch.entries()) {
    let last = request.expected;
    for (const segment of segments) {
      last += segment.count;
      numbers.push(index + 1);
      lasts.push(last);
      all.push(segment);
    }
  }
  const { length } = all;
  return [
    to.integers(length, (index) => numbers[index]),
    to.bigints(length, (index) => lasts[index]),
    to.integers(length, (index) => all[index]?.count),
    to.byteArrays(length, (index) => all[index]?.bytes),
  ];
}

/** Copies entries into the form in which they are stored. */
export function segmentsOf(entries: readonly Uint8Array[]): Segment[] {
  let used = 0;
  return planSegments(entries).map(({ count, bytes }) => {
    // Small ones share a block of memory.
    const part = Buffer.allocUnsafe(bytes);
    writeEntries(part, 0, used === 0 && count === entries.length ? entries : entries.slice(used, used + count));
    used += count;
    return { count, bytes: part };
  });
}
