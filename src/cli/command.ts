import { readFileSync } from "node:fs";
import { exit, noteLostOutput } from "./exit.js";
import { processIo } from "./process-io.js";
import { runProgram } from "./program.js";

// The built file is in dist/src/chunks, the source in src/cli.
const depth = import.meta.url.endsWith(".ts") ? "../.." : "../../..";
const { version } = JSON.parse(readFileSync(new URL(`${depth}/package.json`, import.meta.url), "utf8")) as {
  version: string;
};

noteLostOutput();
try {
  const code = await runProgram(process.argv.slice(2), processIo(version));
  if (code !== undefined) await flushed(code);
} catch (error) {
  const { outcomeOf } = await import("./outcome.js");
  const { exitCode, text } = outcomeOf(error);
  if (text !== "") process.stderr.write(text);
  exit(exitCode);
}

/** Ends the process once its output is written. */
async function flushed(code: number): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.writableLength > 0) await new Promise<void>((resolve) => stream.write("", () => resolve()));
  }
  // The error of a write is reported in a later turn.
  await new Promise((resolve) => setImmediate(resolve));
  exit(process.exitCode === undefined ? code : Number(process.exitCode));
}
