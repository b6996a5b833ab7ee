import { createInterface } from "node:readline/promises";
import type { Readable, Writable } from "node:stream";
import { membersOf } from "../../core/members.js";
import { CommandError } from "../command-error.js";

/** The input of a command. */
export interface Input extends Readable {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
}

/** An output of a command. */
export interface Output extends Writable {
  readonly isTTY?: boolean;
  /** Size of the terminal. */
  readonly columns?: number;
  readonly rows?: number;
  /** Follows NO_COLOR, FORCE_COLOR and TERM, as Node.js does for terminals. */
  hasColors?(): boolean;
}

/** The surroundings of a command. */
export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Fires at SIGINT and SIGTERM. A command that does not ask for it is ended by them. */
  interrupted(): AbortSignal;
}

/** The surroundings of a command of this process. */
export const processIo: Io = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  interrupted() {
    const controller = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => controller.abort());
    return controller.signal;
  },
};

/** The reader of the output has gone, as `head` does. The command ends, without an error. */
export class OutputClosed extends Error {
  override name = "OutputClosed";
}

/** Writes to stdout, at its reader's pace. @throws OutputClosed */
export function print({ stdout }: Io, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stdout.write(text, (error) => {
      if (error === undefined || error === null) return resolve();
      const { code } = membersOf(error);
      const isClosed = code === "EPIPE" || code === "ERR_STREAM_DESTROYED";
      reject(isClosed ? new OutputClosed() : new CommandError("failed", `stdout: ${error.message}`));
    });
  });
}

/** Writes a remark to stderr. */
export function remark({ stderr }: Io, text: string): void {
  stderr.write(`parley: ${text}\n`);
}

/**
 * Asks on a terminal before something is lost.
 * @throws CommandError if the answer is no, or nobody can answer
 */
export async function confirm(io: Io, what: string, { yes }: { readonly yes: boolean }): Promise<void> {
  if (yes) return;
  if (io.stdin.isTTY !== true || io.stderr.isTTY !== true) {
    throw new CommandError("usage", `${what}: this cannot be undone, so it needs --yes without a terminal`);
  }
  const lines = createInterface({ input: io.stdin, output: io.stderr });
  try {
    const answer = await lines.question(`${what}? This cannot be undone. [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("failed", "nothing was done");
  } finally {
    lines.close();
  }
}
