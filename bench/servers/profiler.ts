/** Records like `node --cpu-prof`, but between two moments, without start-up and warm-up. */
import { Session } from "node:inspector/promises";
import type { Profile, ProfiledFunction } from "../protocol.js";

/** Between two samples, in microseconds. */
const INTERVAL = 200;

let session: Session | undefined;

export async function beginProfile(): Promise<void> {
  session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.setSamplingInterval", { interval: INTERVAL });
  await session.post("Profiler.start");
}

/** Ends the recording and adds up the time of each function, wherever it was called from. */
export async function endProfile(): Promise<Profile> {
  if (session === undefined) throw new Error("no profile was begun");
  const { profile } = await session.post("Profiler.stop");
  session.disconnect();
  session = undefined;
  const { nodes, samples = [], timeDeltas = [], startTime, endTime } = profile;
  const micros = new Map<number, number>();
  // A delta is the time before its sample: it belongs to the sample before.
  samples.forEach((id, index) => {
    micros.set(id, (micros.get(id) ?? 0) + Math.max(0, timeDeltas[index + 1] ?? 0));
  });
  const functions = new Map<string, ProfiledFunction>();
  for (const { id, callFrame } of nodes) {
    const { functionName: name, url, lineNumber, columnNumber } = callFrame;
    const key = `${name} ${url} ${lineNumber} ${columnNumber}`;
    const selfMicros = (functions.get(key)?.selfMicros ?? 0) + (micros.get(id) ?? 0);
    functions.set(key, { name, url, line: lineNumber + 1, selfMicros });
  }
  return { functions: [...functions.values()].filter(({ selfMicros }) => selfMicros > 0), micros: endTime - startTime };
}
