import { spawn, spawnSync } from "node:child_process";
import type { Generator, Loaded, Plan } from "../harness/rates.js";
import { type Bench, CALLERS } from "../harness/scenario.js";
import { NUMBER, type WireCall } from "../protocol.js";

/** A load generator that is not ours. */
export interface Tool {
  readonly name: string;
  /** Sends the same call, by so many callers, for so many seconds. @throws Error when not every answer was a success */
  load(call: WireCall, callers: number, seconds: number, directory: string): Promise<Loaded>;
}

/** The tools take whole seconds. */
const ROUND_SECONDS = 1;

/** Returns the plan of rates by tools. The warm-up is long because Node.js needs seconds to optimize a program. */
export function roundsOfTools({ options: { quick } }: Bench): Plan {
  return { rounds: quick ? 1 : 5, roundMs: quick ? 300 : ROUND_SECONDS * 1_000, warmUpMs: quick ? 300 : 5_000 };
}

/** A tool in place of the bench's own generator. */
export function generatorOf({ load }: Tool): Generator {
  return (bench, { call, callers = CALLERS }) => load(call, callers, ROUND_SECONDS, bench.directory);
}

export function isInstalled(program: string): boolean {
  return spawnSync("which", [program]).status === 0;
}

/** Runs a program and returns its output. */
export function run(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], { stdio: ["ignore", "pipe", "pipe"] });
    let [output, errors] = ["", ""];
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    child.stderr.on("data", (chunk) => {
      errors += chunk;
    });
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${program}: ${errors || output}`)),
    );
  });
}

/** A request of HTTP/1.1 as other programs want it. They send the same number every time. */
export function partsOf({ port, request }: WireCall & { transport: "http1" }) {
  const text = Buffer.from(request, "base64").toString().replace(NUMBER, "0".repeat(NUMBER.length));
  const end = text.indexOf("\r\n\r\n");
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const [method = "", path = ""] = first.split(" ");
  const headers = lines.map((line) => line.split(": ") as [string, string]);
  // Whoever sends them writes these two himself.
  const own = headers.filter(([name]) => name !== "host" && name !== "content-length");
  return { url: `http://127.0.0.1:${port}${path}`, method, headers: own, body: text.slice(end + 4) };
}

/** A number in what a program printed. @throws Error when it is not there */
export function numberIn(output: string, pattern: RegExp): number {
  const found = pattern.exec(output)?.[1];
  if (found === undefined) throw new Error(`not found, ${pattern}: ${output}`);
  return Number(found);
}
