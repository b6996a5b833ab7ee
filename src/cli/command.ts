import { readFileSync } from "node:fs";
import { Command } from "commander";
import { exit } from "./exit.js";
import { outcomeOf } from "./report.js";
import { addServe } from "./serve.js";

// Built, this file lies in dist/src/cli; run from its source, in src/cli.
const depth = import.meta.url.endsWith(".ts") ? "../.." : "../../..";
const { version } = JSON.parse(readFileSync(new URL(`${depth}/package.json`, import.meta.url), "utf8")) as {
  version: string;
};

/** What commander suggests stands on a line of its own. */
const oneLine = (text: string): string => text.replace(/^error: /, "parley: ").replace(/\n\((.*)\)/, " ($1)");

const program = new Command("parley")
  .description("Serve agents over the Agent2Agent (A2A) protocol.")
  .version(version)
  .exitOverride()
  // One line says what is wrong; `--help` says the rest.
  .configureOutput({ outputError: (text, write) => write(oneLine(text)) });

try {
  addServe(program);
  await program.parseAsync(process.argv);
} catch (error) {
  const { exitCode, text } = outcomeOf(error);
  if (text !== "") process.stderr.write(text);
  exit(exitCode);
}
