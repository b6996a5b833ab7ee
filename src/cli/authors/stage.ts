import type { Io } from "../io.js";
import type { ReadyMessage } from "./dev-messages.js";

/** Where `parley dev` shows its server. */
export interface Stage {
  /** The output of the server's process: that of this one, or a file descriptor. */
  readonly output: "inherit" | number;
  /** Shows a line about the server. */
  say(text: string): void;
  /** The process of the server starts. */
  starting(): void;
  /** The server accepts calls. @param isFirst false after a restart */
  ready(message: ReadyMessage, isFirst: boolean): void;
  /** The server accepts no calls until it is ready again. */
  away(): void;
  /** The process has ended before it was ready. */
  failed(): void;
  /** Ends the stage's own chat, if it has one. */
  close(): Promise<void>;
}

/** Returns a stage that shows everything as it comes. */
export function plainStage({ stdout, stderr }: Io): Stage {
  const say = (text: string): void => void stderr.write(`parley: ${text}\n`);
  return {
    output: "inherit",
    say,
    starting: () => {},
    ready: ({ greeting }, isFirst) => {
      if (isFirst) stdout.write(greeting);
      else say("the agent is served again");
    },
    away: () => {},
    failed: () => {},
    close: async () => {},
  };
}
