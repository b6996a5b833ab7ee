import type { Io } from "../io.js";

/** The place where `parley dev` shows its server. */
export interface Stage {
  /** The output of the server's process: that of this one, or a file descriptor. */
  readonly output: "inherit" | number;
  /** Shows a line about the server. */
  say(text: string): void;
  /** The process of the server starts. */
  starting?(): void;
  /** The server accepts calls. @param isFirst false after a restart */
  ready(message: ReadyMessage, isFirst: boolean): void;
  /** The server accepts no calls until it is ready again. */
  away?(): void;
  /** The process has ended before it was ready. */
  failed?(): void;
  /** Ends the stage's own chat, if it has one. */
  close?(): Promise<void>;
}

/** Returns a stage that shows everything as it comes. */
export function plainStage({ stdout, stderr }: Io): Stage {
  const say = (text: string): void => void stderr.write(`parley: ${text}\n`);
  return {
    output: "inherit",
    say,
    ready: ({ greeting }, isFirst) => {
      if (isFirst) stdout.write(greeting);
      else say("the agent is served again");
    },
  };
}

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

/** The server cannot start, and no change of a file can fix the error. */
interface StuckMessage {
  readonly type: "stuck";
}

/** Modules that Node.js reports as it loads them, as for its own option `--watch`; null for one of its own. */
export interface LoadedMessage {
  readonly "watch:import"?: readonly (string | null)[];
  readonly "watch:require"?: readonly (string | null)[];
}
