import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { NUMBER } from "../protocol.js";
import { numberIn, run, type Tool } from "./tool.js";

/** Number of callers that share a connection, as in the bench's own generator. */
const CALLS_PER_CHANNEL = 10;

/** Calls of the first look, which tells how many fill the time that is asked for. */
const LOOK_CALLS = 1_000;

export const h2load: Tool = {
  name: "h2load",
  async load(call, callers, seconds, directory) {
    if (call.transport !== "http2") throw new Error("h2load is used for gRPC");
    const file = join(directory, "h2load.bin");
    const body = Buffer.from(call.body, "base64").toString("latin1").replace(NUMBER, "0".repeat(NUMBER.length));
    writeFileSync(file, body, "latin1");
    const channels = Math.ceil(callers / CALLS_PER_CHANNEL);
    const headers = call.headers.flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
    const same = ["-t1", `-c${channels}`, `-m${CALLS_PER_CHANNEL}`, "-d", file, ...headers];
    const url = `http://127.0.0.1:${call.port}${call.path}`;
    const send = async (calls: number) => {
      const output = await run("h2load", [`-n${calls}`, ...same, url]);
      const succeeded = numberIn(output, /(\d+) succeeded/);
      if (succeeded !== calls) throw new Error(`h2load had ${calls - succeeded} answers that were no success`);
      // A call that failed has status 200 as well, but no message: the bytes of data tell.
      return { perSecond: numberIn(output, /, ([\d.]+) req\/s/), bytes: numberIn(output, /\((\d+)\) data/) };
    };
    const calls = Math.ceil((await send(LOOK_CALLS)).perSecond * seconds);
    const { perSecond, bytes } = await send(calls);
    return { calls, ms: (calls * 1_000) / perSecond, bytes };
  },
};
