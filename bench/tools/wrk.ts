import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { numberIn, partsOf, run, type Tool } from "./tool.js";

const text = (value: string): string => JSON.stringify(value);

/** A script for wrk: the request, and at the end counts in a line that is easily read. */
function script(call: Parameters<typeof partsOf>[0]): string {
  const { method, headers, body } = partsOf(call);
  return [
    `wrk.method = ${text(method)}`,
    `wrk.body = ${text(body)}`,
    ...headers.map(([name, value]) => `wrk.headers[${text(name)}] = ${text(value)}`),
    "function done(summary)",
    "  local e = summary.errors",
    "  local bad = e.connect + e.read + e.write + e.status + e.timeout",
    '  print("calls=" .. summary.requests .. " us=" .. summary.duration .. " bad=" .. bad)',
    "end",
  ].join("\n");
}

export const wrk: Tool = {
  name: "wrk",
  async load(call, callers, seconds, directory) {
    if (call.transport !== "http1") throw new Error("wrk speaks HTTP/1.1");
    const file = join(directory, "wrk.lua");
    writeFileSync(file, script(call));
    const output = await run("wrk", ["-t1", `-c${callers}`, `-d${seconds}s`, "-s", file, partsOf(call).url]);
    const bad = numberIn(output, /bad=(\d+)/);
    if (bad > 0) throw new Error(`wrk had ${bad} answers that were no success`);
    return { calls: numberIn(output, /calls=(\d+)/), ms: numberIn(output, /us=(\d+)/) / 1_000 };
  },
};
