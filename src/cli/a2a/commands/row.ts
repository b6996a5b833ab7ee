import type { Run } from "../context.js";

export interface OwnOption {
  /** With its placeholder, as in commander: `--history <n>`. */
  readonly flags: string;
  readonly help: string;
  /** True to leave it out of the help, as for an alias. */
  readonly isHidden?: boolean;
  /** Values that completion offers. */
  readonly values?: readonly string[];
}

/** A command that calls agents, as the help knows it. Its code is loaded when it runs. */
export interface CommandRow {
  /** One word, or group and verb. */
  readonly words: string;
  /** Operands, as in commander. */
  readonly operands?: string;
  /** The only values of the first operand. */
  readonly values?: readonly string[];
  readonly about: string;
  readonly options?: readonly OwnOption[];
  /** True if it accepts `--stream`. */
  readonly streams?: boolean;
  /** Command lines that work, without the program's name. They name a task as TASK, and an agent at localhost:8080. */
  readonly examples?: readonly string[];
  readonly after?: string;
  readonly load: () => Promise<{ readonly run: Run }>;
}
