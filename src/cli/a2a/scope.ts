import type { Io } from "../io.js";
import type { Failure } from "./errors.js";
import type { Output } from "./output.js";
import type { Values } from "./settings.js";
import type { GivenFlag, Resolved } from "./sources.js";

/** Facts about one run that every part of it needs. */
export interface Scope {
  readonly io: Io;
  readonly out: Output;
  readonly settings: Values;
  readonly resolved: Resolved;
  /** All options of the command line, in their order. */
  readonly given: readonly GivenFlag[];
  /** Aborts when the run is interrupted or its time is over; the reason is a Failure. */
  readonly signal: AbortSignal;
  /** The task of the command, once its id is known. */
  readonly task: { readonly id: string; readonly contextId: string } | undefined;
  /** True after calls were given a credential of `auth login`. */
  readonly usesLogin: boolean;
  /** Notes that a stream has lost its connection. The stream is then resumed. */
  noteCut(): void;
  /** Notes that calls were given a credential of `auth login`. */
  noteLogin(): void;
  /** Registers a function that is called after the run. */
  onClose(close: () => Promise<void>): void;
  /** Ends the run with a failure. */
  end(failure: Failure): void;
}
