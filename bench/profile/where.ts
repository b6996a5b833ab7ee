import type { Profile, ProfiledFunction } from "../protocol.js";

/** Names of samples outside JavaScript. In idle ones the thread waits for its next event, which is not a cost. */
const IDLE = "(idle)";
const NATIVE: Readonly<Record<string, string>> = {
  "(garbage collector)": "garbage collection",
  "(program)": "native code without a name",
};

/** Names of the functions by which Node.js writes to sockets. Their time includes the kernel's delivery. */
const SOCKET_WRITES = /^write(v|Buffer|Utf8String|Latin1String|AsciiString|Ucs2String)$/;

/** Groups of Node's own modules, by the beginnings of their names. */
const NODE: readonly (readonly [beginning: string, group: string])[] = [
  ["_http", "node: http"],
  ["internal/http2", "node: http2"],
  ["internal/http", "node: http"],
  ["http", "node: http"],
  ["_stream", "node: streams"],
  ["stream", "node: streams"],
  ["internal/streams", "node: streams"],
  ["net", "node: net"],
  ["internal/stream_base", "node: net"],
  ["internal/process/task_queues", "node: timers and ticks"],
  ["internal/timers", "node: timers and ticks"],
  ["timers", "node: timers and ticks"],
  ["internal/async_hooks", "node: timers and ticks"],
  ["events", "node: events"],
  ["internal/abort_controller", "node: events"],
  ["internal/event_target", "node: events"],
  ["buffer", "node: buffers"],
  ["internal/buffer", "node: buffers"],
];

/** Returns the package or folder of a function. */
export function groupOf({ name, url }: ProfiledFunction): string {
  if (url === "" && SOCKET_WRITES.test(name)) return "socket writes, in the kernel";
  if (url === "") return NATIVE[name] ?? "other built-ins";
  if (url.startsWith("node:")) {
    const module = url.slice("node:".length);
    return NODE.find(([beginning]) => module.startsWith(beginning))?.[1] ?? "node: others";
  }
  const inPackage = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  if (inPackage !== undefined) return inPackage;
  const folder = /\/dist\/(src\/[^/]+|gen|bench)\//.exec(url)?.[1];
  return folder === "bench" ? "the handler of the bench" : (folder ?? url);
}

/** Where a function is, without what differs from machine to machine. */
export function placeOf({ url, line }: ProfiledFunction): string {
  if (url === "" || url.startsWith("node:")) return url;
  return `${url.replace(/^.*\/node_modules\/|^.*\/dist\//, "")}:${line}`;
}

/** A share of the main thread's busy time, in percent, and per call, in microseconds. */
export interface Share {
  readonly name: string;
  readonly place?: string;
  readonly percent: number;
  readonly microsPerCall: number;
}

type Named = Pick<Share, "name" | "place">;

/**
 * Returns the self time of groups of functions, the largest first. Samples give the shares of the CPU time of a call,
 * because a sample cannot distinguish a working thread from one that waits for a core.
 */
export function shares(
  { functions }: Profile,
  cpuMicrosPerCall: number,
  of: (one: ProfiledFunction) => Named,
): Share[] {
  const busy = functions.filter(({ name }) => name !== IDLE);
  const all = busy.reduce((sum, { selfMicros }) => sum + selfMicros, 0);
  const sums = new Map<string, Named & { micros: number }>();
  for (const one of busy) {
    const named = of(one);
    const key = `${named.name} ${named.place ?? ""}`;
    sums.set(key, { ...named, micros: (sums.get(key)?.micros ?? 0) + one.selfMicros });
  }
  return [...sums.values()]
    .map(({ micros, ...named }) => ({ ...named, share: micros / all }))
    .map(({ share, ...named }) => ({ ...named, percent: 100 * share, microsPerCall: share * cpuMicrosPerCall }))
    .sort((a, b) => b.percent - a.percent);
}
