/** What a command reads and writes. `process-io.ts` has that of the process. */
export interface Io {
  /** Name of the binary, as hints show it: `parley` or `a2a`. */
  readonly program: string;
  /** Version of the package. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Home directory of the user; undefined if it is unknown. */
  readonly home: string | undefined;
  /** Aborts at the first SIGINT or SIGTERM, whose name is the reason. */
  readonly interrupted: AbortSignal;
  /** Reads stdin to its end. */
  readStdin(): Promise<Uint8Array<ArrayBuffer>>;
  /** Writes to stdout: results only. */
  out(text: string): void;
  /** Writes to stderr. */
  err(text: string): void;
}
