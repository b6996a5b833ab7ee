/** Variable that tells the process of the server from the one that watches. */
export const CHILD_VARIABLE = "PARLEY_DEV_CHILD";

/** Time for running work before a restart, in milliseconds; `--grace` sets another one. */
export const GRACE_MS = 500;

/** Message from the process of the server to `parley dev`. */
export type FromServer = ReadyMessage | StuckMessage;

/** The server accepts calls. */
export interface ReadyMessage {
  readonly type: "ready";
  readonly port: number;
  readonly grpcPort: number | undefined;
  /** URL by which this machine reaches it. */
  readonly address: string;
  readonly greeting: string;
}

/** The server cannot start, and no change of a file can mend that. */
interface StuckMessage {
  readonly type: "stuck";
}

/** Modules that Node.js reports as it loads them, as for its own option `--watch`; null for one of its own. */
export interface LoadedMessage {
  readonly "watch:import"?: readonly (string | null)[];
  readonly "watch:require"?: readonly (string | null)[];
}
