import { readFileSync } from "node:fs";
import { Command } from "commander";
import { addCard } from "./card.js";
import { exit } from "./exit.js";
import { noteLostOutput } from "./lost-output.js";
import { addPush } from "./push.js";
import { outcomeOf } from "./report.js";
import { addServe } from "./serve.js";

// The built file is in dist/src/chunks, the source in src/cli.
const depth = import.meta.url.endsWith(".ts") ? "../.." : "../../..";
const { version } = JSON.parse(readFileSync(new URL(`${depth}/package.json`, import.meta.url), "utf8")) as {
  version: string;
};

/** Joins commander's message and its suggestion, which is on a line of its own. */
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
  addServe(program);
  addCard(program);
  addPush(program);
  await program.parseAsync(process.argv);
} catch (error) {
  const { exitCode, text } = outcomeOf(error);
  if (text !== "") process.stderr.write(text);
  exit(exitCode);
}
