import type { JsonObject } from "@bufbuild/protobuf";
import type { BindingName, CallOptions } from "../support/driver.js";
import type { Pattern } from "../support/match.js";
import type { ErrorName } from "./errors.js";
import type { SetupName } from "./setups.js";

/**
 * A behaviour that is the same over every binding: steps against a server, with the expected replies.
 *
 * Strings in requests, headers and expectations may contain values as `{name}`. `{run}` differs in each run of a case,
 * and `{new}` at each place. Earlier steps save the other values.
 */
export interface Case {
  readonly name: string;
  /** Ids of the requirements that the case covers; see `requirements.ts`. */
  readonly ids: readonly string[];
  /** The server that the case needs. Default: `main`. */
  readonly setup?: SetupName;
  readonly steps: readonly Step[];
  /** Bindings that cannot express the case, with the reason. */
  readonly except?: Readonly<Partial<Record<BindingName, string>>>;
  /** Bindings that are known to fail the case. They have to fail it in the known way. */
  readonly failing?: Readonly<Partial<Record<BindingName, KnownFailure>>>;
}

export interface KnownFailure {
  readonly why: string;
  /** Matches the message of the failure. Another failure fails the case. */
  readonly shows: RegExp;
}

export interface Expectation {
  /** The expected message. Omitted if an error is expected. */
  readonly message?: Pattern;
  readonly error?: ErrorPattern;
  /** Headers, by lower-case name. */
  readonly headers?: Readonly<Record<string, Pattern>>;
  /** Values to save: places in the message by name. */
  readonly save?: Saves;
}

/** Places in a message, such as `task.history[0].messageId`, optionally with a function that converts the text. */
export type Saves = Readonly<Record<string, string | readonly [place: string, change: (text: string) => string]>>;

/** The expected error. Its reason determines the codes and the details. */
export interface ErrorPattern {
  readonly reason: ErrorName;
  /** Paths of all field violations, in any order. */
  readonly fields?: readonly string[];
  /** Metadata of the ErrorInfo. */
  readonly info?: Pattern;
  readonly message?: Pattern;
  /** Bindings that carry only the status, with the reason. */
  readonly bare?: Readonly<Partial<Record<BindingName, string>>>;
}

/** Options of a call, with `{name}` not yet replaced. */
export type StepOptions = Pick<CallOptions, "headers" | "query" | "timeoutMs">;

interface Outgoing {
  readonly rpc: string;
  readonly request: JsonObject;
  readonly options?: StepOptions | undefined;
}

export type Step =
  | ({ readonly kind: "call"; readonly expect: Expectation } & Outgoing)
  | ({ readonly kind: "begin"; readonly name: string } & Outgoing)
  | { readonly kind: "settle"; readonly name: string; readonly expect: Expectation }
  | ({ readonly kind: "open"; readonly name: string } & Outgoing)
  | { readonly kind: "read"; readonly name: string; readonly events: readonly Pattern[]; readonly save?: Saves }
  | ({ readonly kind: "finish"; readonly name: string } & StreamEnd)
  | { readonly kind: "hangUp"; readonly name: string }
  | { readonly kind: "release"; readonly gate: string }
  | { readonly kind: "reached"; readonly gate: string }
  | { readonly kind: "tick" };

/** The rest of a stream. */
export interface StreamEnd {
  readonly events?: readonly Pattern[];
  /** The last event, if not all events can be predicted. */
  readonly last?: Pattern;
  /** The error that ends the stream, if any. */
  readonly error?: ErrorPattern;
  readonly headers?: Readonly<Record<string, Pattern>>;
}

/** Calls and waits for the reply. */
export function call(rpc: string, request: JsonObject, expect: Expectation, options?: StepOptions): Step {
  return { kind: "call", rpc, request, expect, options };
}

/** Calls without waiting; `settle` waits for the reply. */
export function begin(name: string, rpc: string, request: JsonObject, options?: StepOptions): Step {
  return { kind: "begin", name, rpc, request, options };
}

/** Waits for the reply to a call that was started. */
export function settle(name: string, expect: Expectation): Step {
  return { kind: "settle", name, expect };
}

/** Opens a stream; `read` and `finish` read it. */
export function open(name: string, rpc: string, request: JsonObject, options?: StepOptions): Step {
  return { kind: "open", name, rpc, request, options };
}

/** Reads exactly as many messages of a stream as there are patterns. */
export function read(name: string, events: readonly Pattern[], save?: Saves): Step {
  return save === undefined ? { kind: "read", name, events } : { kind: "read", name, events, save };
}

/** Reads a stream to its end. Any message that is not expected fails the case. */
export function finish(name: string, end: StreamEnd = {}): Step {
  return { kind: "finish", name, ...end };
}

export function hangUp(name: string): Step {
  return { kind: "hangUp", name };
}

/** A stream from its beginning to its end. */
export function stream(rpc: string, request: JsonObject, end: StreamEnd, options?: StepOptions): readonly Step[] {
  return [open("only", rpc, request, options), finish("only", end)];
}

/** Opens a gate, so that its agents continue. */
export function release(gate: string): Step {
  return { kind: "release", gate };
}

/** Waits until an agent is at a gate. */
export function reached(gate: string): Step {
  return { kind: "reached", gate };
}

/** Waits until the clock's millisecond changes, so that two status times differ. */
export const tick: Step = { kind: "tick" };

/**
 * A request that sends a text with its own message id. `message` and `more` add fields to the message and the request.
 */
export function say(text: string, message: JsonObject = {}, more: JsonObject = {}): JsonObject {
  return { message: { messageId: "{new}", role: "ROLE_USER", parts: [{ text }], ...message }, ...more };
}

/** The request of `say`, which returns before the task ends. */
export function sayAndGo(text: string, message: JsonObject = {}): JsonObject {
  return say(text, message, { configuration: { returnImmediately: true } });
}

/** One otherwise valid request for every operation. */
export const everyOperation: readonly (readonly [rpc: string, request: JsonObject])[] = [
  ["SendMessage", say("echo hello")],
  ["SendStreamingMessage", say("echo hello")],
  ["GetTask", { id: "unknown" }],
  ["ListTasks", {}],
  ["CancelTask", { id: "unknown" }],
  ["SubscribeToTask", { id: "unknown" }],
  ["CreateTaskPushNotificationConfig", { taskId: "unknown", url: "https://hooks.example/a" }],
  ["GetTaskPushNotificationConfig", { taskId: "unknown", id: "one" }],
  ["ListTaskPushNotificationConfigs", { taskId: "unknown" }],
  ["GetExtendedAgentCard", {}],
  ["DeleteTaskPushNotificationConfig", { taskId: "unknown", id: "one" }],
];

/** True if an rpc answers with a stream. */
export function isStreaming(rpc: string): boolean {
  return rpc === "SendStreamingMessage" || rpc === "SubscribeToTask";
}

/** Calls any operation, which has to fail. */
export function refused(rpc: string, request: JsonObject, error: ErrorPattern, options?: StepOptions): readonly Step[] {
  return isStreaming(rpc) ? stream(rpc, request, { error }, options) : [call(rpc, request, { error }, options)];
}
