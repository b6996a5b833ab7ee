import { createInterface } from "node:readline/promises";
import { CommandError, UsageError } from "../command-error.js";
import { type Io, isReaderGone } from "../io.js";

/** The reader of the output has gone, as `head` does. The command ends, without an error. */
export class OutputClosed extends Error {
  override name = "OutputClosed";
}

/** Writes to stdout, at its reader's pace. @throws OutputClosed */
export function print({ stdout }: Io, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (error) => {
      if (error === undefined || error === null) return resolve();
      reject(isReaderGone(error) ? new OutputClosed() : new CommandError("failed", `stdout: ${error.message}`));
    });
  });
}

export function remark({ stderr }: Io, text: string): void {
  stderr.write(`parley: ${text}\n`);
}

/**
 * Asks on a terminal before something is lost.
 * @throws CommandError if the operator declines or presses Ctrl-C or Ctrl-D, or without a terminal to ask at
 */
export async function confirm(io: Io, what: string, { yes }: { readonly yes: boolean }): Promise<void> {
  if (yes) return;
  if (io.stdin.isTTY !== true || io.stderr.isTTY !== true) {
    throw new UsageError(`${what}: this cannot be undone; without a terminal it needs --yes`);
  }
  const lines = createInterface({ input: io.stdin, output: io.stderr });
  const stop = new AbortController();
  // Ctrl-C closes too. An interface that closes leaves its question without an answer.
  lines.once("close", () => stop.abort());
  const unanswered = (): never => {
    io.stderr.write("\n");
    throw new CommandError("interrupted", "nothing was done");
  };
  try {
    const question = `${what}? This cannot be undone. [y/N] `;
    const answer = await lines.question(question, { signal: stop.signal }).catch(unanswered);
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("failed", "nothing was done");
  } finally {
    lines.close();
  }
}
