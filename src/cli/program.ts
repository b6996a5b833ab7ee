import { Command, CommanderError } from "commander";
import { earlyMode, normalized } from "./a2a/arguments.js";
import { commandRows, groups } from "./a2a/commands.js";
import { storedScript } from "./a2a/completion/stored.js";
import { Failure, usage } from "./a2a/errors.js";
import { addAgentCommands, mistake, usageFailure } from "./a2a/register.js";
import type { Io } from "./io.js";
import { addServerCommands } from "./server-commands.js";

/**
 * Runs a command line.
 *
 * @returns the exit status; undefined if the process ends otherwise, as a server does
 * @throws errors of the server's commands
 */
export async function runProgram(argv: readonly string[], io: Io): Promise<number | undefined> {
  const early = earlyMode(argv, io.env);
  const words = normalized(argv, new Set(Object.keys(groups)));
  const [first, shell = "", ...more] = words;
  const stored = first === "completion" && more.length === 0 ? storedScript(io.program, shell) : undefined;
  if (stored !== undefined) {
    io.stdout.write(stored);
    return 0;
  }
  let isOfServer = false;
  let exit: number | undefined;
  const program = new Command(io.program)
    .description("Call and serve agents over the Agent2Agent (A2A) protocol.")
    .version(io.version, "-V, --version", "show the version (also -v)")
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      // The same on every terminal and in a pipe.
      getOutHelpWidth: () => 100,
      getOutHasColors: () => false,
      // `fail` prints the errors of other commands.
      writeErr: (text) => isOfServer && io.stderr.write(text),
      outputError: (text, write) => write(oneLine(text, first)),
    });
  // Completion needs all, and so does the help of a group for one of its commands.
  const isWhole = first === "completion" || words.slice(1).includes("help");
  const line = `${words.filter((word) => !word.startsWith("-")).join(" ")} `;
  addAgentCommands(program, io, early, {
    ended: (code) => {
      exit = code;
    },
    isNeeded: (own) => isWhole || line.startsWith(`${own} `),
  });
  await addServerCommands(program, words, io);
  isOfServer = ofServer(program, words);
  try {
    checkHelp(program, words);
    await program.parseAsync([...words], { from: "user" });
    return exit;
  } catch (error) {
    if (isOfServer) throw error;
    const failure = error instanceof CommanderError ? usageFailure(error, program, first) : error;
    if (failure === undefined) return 0;
    if (!(failure instanceof Failure)) throw error;
    const { Output } = await import("./a2a/output.js");
    new Output(io, early).fail(failure);
    return failure.exit;
  }
}

/** True for a command that prints its errors itself. */
function ofServer(program: Command, [first = "", second = ""]: readonly string[]): boolean {
  if (first === "card") return second === "sign" || second === "verify";
  const isOfAgents = commandRows.some(({ words }) => words.split(" ", 1)[0] === first);
  return !isOfAgents && program.commands.some((each) => each.name() === first);
}

/** Joins commander's message and its suggestion into one line. */
function oneLine(text: string, first: string | undefined): string {
  return `${mistake(text.trimEnd(), first).replace(/^error: /, "parley: ")}\n`;
}

/** The help of an unknown command is an error. @throws Failure */
function checkHelp(program: Command, words: readonly string[]): void {
  if (words.at(-1) !== "--help") return;
  let at = program;
  for (const word of words.slice(0, -1)) {
    if (word.startsWith("-") || at.commands.length === 0) return;
    const next = at.commands.find((each) => each.name() === word);
    if (next === undefined) throw usage(`unknown command '${word}'`, `${program.name()} --help lists the commands`);
    at = next;
  }
}
