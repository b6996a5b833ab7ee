import type { Readable, Writable } from "node:stream";

export interface InputStream extends Readable {
  readonly isTTY?: boolean;
  setRawMode?(raw: boolean): unknown;
}

export interface OutputStream extends Writable {
  readonly isTTY?: boolean;
  /** Size of the terminal. */
  readonly columns?: number;
  readonly rows?: number;
  /** Follows NO_COLOR, FORCE_COLOR and TERM, as Node.js does for terminals. */
  hasColors?(): boolean;
}

/** The surroundings of a command. `process-io.ts` returns those of the process. */
export interface Io {
  /** Name of the binary, as hints show it: `parley` or `a2a`. */
  readonly program: string;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Home directory of the user; undefined if it is unknown. */
  readonly home: string | undefined;
  readonly stdin: InputStream;
  /** Stream for results only. */
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Aborts at the first SIGINT or SIGTERM, whose name is the reason. A command that does not read it is ended by them. */
  readonly interrupted: AbortSignal;
}

/** True if a person can be asked in the terminal. */
export function hasTerminal({ stdin, stderr }: Pick<Io, "stdin" | "stderr">): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/** True if a person can talk in the terminal. */
export function isInteractive(io: Io): boolean {
  return hasTerminal(io) && io.stdout.isTTY === true;
}

/** True for the error of a write whose reader has gone, as `head` does. */
export function isReaderGone(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === "EPIPE" || code === "ERR_STREAM_DESTROYED";
}
