import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { ConfigurationError } from "../card/faults.js";
import { StoreError } from "../store/task-store.js";
import { addBackup } from "./backup.js";
import { addCard } from "./card.js";
import { CommandError } from "./command-error.js";
import { exit, noteLostOutput, RESTART_CODE } from "./exit.js";
import { addOperate } from "./operate/groups.js";
import { addPush } from "./push.js";
import { addServe } from "./serve.js";
import { UsageError } from "./usage-error.js";

// The built file is in dist/src/chunks, the source in src/cli.
const depth = import.meta.url.endsWith(".ts") ? "../.." : "../../..";
const { version } = JSON.parse(readFileSync(new URL(`${depth}/package.json`, import.meta.url), "utf8")) as {
  version: string;
};

/** Joins commander's message and its suggestion into one line. */
const oneLine = (text: string): string =>
  text
    .replace(/^error: /, "parley: ")
    .replace(/\n\((.*)\)/, " ($1)")
    .replace(/unknown command '(.+\.[cm]?[jt]s)'/, "$& (Did you mean serve $1?)");

const program = new Command("parley")
  .description("Serve agents over the Agent2Agent (A2A) protocol.")
  .version(version)
  .exitOverride()
  // An error is one line; `--help` has the rest.
  .configureOutput({ outputError: (text, write) => write(oneLine(text)) });

noteLostOutput();
try {
  const args = process.argv.slice(2);
  await addServe(program, args);
  addCard(program);
  addPush(program);
  addBackup(program);
  await addOperate(program, args);
  await program.parseAsync(process.argv);
} catch (error) {
  const { exitCode, text } = outcomeOf(error);
  if (text !== "") process.stderr.write(text);
  exit(exitCode);
}

/** Result of a command. */
interface Outcome {
  /**
   * 0: done. 2: a mistake that the user can correct. 75: a fault that may pass, so start again. 1: any other error. See
   * also `exitCodes`.
   */
  readonly exitCode: number;
  /** Text to print, if not printed yet. */
  readonly text: string;
}

/** Turns an expected error into one line; an unexpected one keeps its stack trace. */
function outcomeOf(error: unknown): Outcome {
  // commander has printed its own message already.
  if (error instanceof CommanderError) return { exitCode: error.exitCode === 0 ? 0 : 2, text: "" };
  if (error instanceof CommandError) return { exitCode: error.exitCode, text: `parley: ${error.message}\n` };
  const expected = error instanceof UsageError || error instanceof ConfigurationError || error instanceof StoreError;
  const passing = error instanceof StoreError && error.kind === "unavailable";
  if (expected)
    return { exitCode: passing ? RESTART_CODE : 2, text: `parley: ${error.message.replaceAll(/\s*\n\s*/g, " ")}\n` };
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { exitCode: 1, text: `parley: unexpected error: ${text}\n` };
}
