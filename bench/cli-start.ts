/** Measures the start of the command line as the difference to a bare Node.js in the same run: `tsx bench/cli-start.ts`. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "./harness/rates.js";

const main = fileURLToPath(new URL("../dist/src/cli/main.js", import.meta.url));
const probe = fileURLToPath(new URL("../dist/examples/probe/agent.js", import.meta.url));
const ROUNDS = 20;

/** Runs Node.js to its end. @returns milliseconds */
function run(args: readonly string[]): Promise<number> {
  const begin = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: "ignore" });
    child.once("error", reject);
    child.once("exit", (code) =>
      code === 0 ? resolve(performance.now() - begin) : reject(new Error(`${args.join(" ")} ended with ${code}`)),
    );
  });
}

const server = spawn(process.execPath, [main, "serve", probe, "--port", "0", "--grpc-port", "0", "--store", "memory"], {
  stdio: ["ignore", "pipe", "ignore"],
});
const url = await new Promise<string>((resolve) => {
  let text = "";
  server.stdout.on("data", (chunk) => {
    text += chunk;
    const found = /^ *HTTP +(\S+)/m.exec(text)?.[1];
    if (found !== undefined) resolve(found);
  });
});

const lanes: Readonly<Record<string, readonly string[]>> = {
  "node -e 0": ["-e", "0"],
  "--version": [main, "--version"],
  "--help": [main, "--help"],
  "completion bash": [main, "completion", "bash"],
  "send (a first request)": [main, "send", "-a", url, "say hi"],
};

try {
  const times = new Map(Object.keys(lanes).map((name) => [name, [] as number[]]));
  // Interleaved, so that all of them meet the machine in the same states.
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, args] of Object.entries(lanes)) times.get(name)?.push(await run(args));
  }
  const bare = median(times.get("node -e 0") ?? []);
  for (const [name, all] of times) {
    const ms = median(all);
    console.log(`${name.padEnd(24)} ${ms.toFixed(0).padStart(5)} ms  +${(ms - bare).toFixed(0)} ms`);
  }
} finally {
  server.kill();
}
