import type { JsonObject } from "@bufbuild/protobuf";
import type { BindingName, CallOptions } from "../support/driver.js";
import type { Pattern } from "../support/match.js";
import type { ErrorName } from "./errors.js";
import type { SetupName } from "./setups.js";

/**
 * One thing that every binding does in the same way: a few steps against a server, and what they have to bring.
 *
 * Strings in requests, headers and expectations may name values as `{name}`: `{run}` is another one for each run of
 * a case, `{new}` another one wherever it stands, and the others are what earlier steps saved.
 */
export interface Case {
  readonly name: string;
  /** Numbers of the requirements that it shows to be met; see `requirements.ts`. */
  readonly ids: readonly string[];
  /** The server that it needs. Default: `main`. */
  readonly setup?: SetupName;
  readonly steps: readonly Step[];
  /** Bindings that cannot express it, each with the reason. */
  readonly except?: Readonly<Partial<Record<BindingName, string>>>;
  /** Bindings that are known to fail it. It has to fail there, and in the way that is known. */
  readonly failing?: Readonly<Partial<Record<BindingName, KnownFailure>>>;
}

/** A failure that is known. */
export interface KnownFailure {
  readonly why: string;
  /** What its message shows: another failure in its place is news. */
  readonly shows: RegExp;
}

/** What a reply has to be like. */
export interface Expectation {
  /** The message; left out where an error is expected. */
  readonly message?: Pattern;
  readonly error?: ErrorPattern;
  /** Headers, by lower-case name. */
  readonly headers?: Readonly<Record<string, Pattern>>;
  /** Values to remember: by their name, the place in the message. */
  readonly save?: Saves;
}

/** Places in a message, such as `task.history[0].messageId`; with a function, what it makes of the text there. */
export type Saves = Readonly<Record<string, string | readonly [place: string, change: (text: string) => string]>>;

/** What an error has to be like, beside the codes and the details that its reason asks for. */
export interface ErrorPattern {
  readonly reason: ErrorName;
  /** Paths of all field violations, in any order. */
  readonly fields?: readonly string[];
  /** Metadata of the ErrorInfo. */
  readonly info?: Pattern;
  readonly message?: Pattern;
  /** Bindings where the status alone can be had, each with the reason. */
  readonly bare?: Readonly<Partial<Record<BindingName, string>>>;
}

/** Options of a call, with their strings still to be filled in. */
export type StepOptions = Pick<CallOptions, "headers" | "query" | "timeoutMs">;

interface Outgoing {
  readonly rpc: string;
  readonly request: JsonObject;
  readonly options?: StepOptions | undefined;
}

/** One step of a case. */
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
  /** The last of them, where not all of them can be foretold. */
  readonly last?: Pattern;
  /** The error it ends with, where it does. */
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

/** Waits for the reply to a call that was begun. */
export function settle(name: string, expect: Expectation): Step {
  return { kind: "settle", name, expect };
}

/** Opens a stream; `read` and `finish` read it. */
export function open(name: string, rpc: string, request: JsonObject, options?: StepOptions): Step {
  return { kind: "open", name, rpc, request, options };
}

/** Reads as many messages of a stream as there are patterns, and not one more. */
export function read(name: string, events: readonly Pattern[], save?: Saves): Step {
  return save === undefined ? { kind: "read", name, events } : { kind: "read", name, events, save };
}

/** Reads a stream to its end: nothing may come but what is expected. */
export function finish(name: string, end: StreamEnd = {}): Step {
  return { kind: "finish", name, ...end };
}

/** Leaves a stream. */
export function hangUp(name: string): Step {
  return { kind: "hangUp", name };
}

/** A stream from its beginning to its end. */
export function stream(rpc: string, request: JsonObject, end: StreamEnd, options?: StepOptions): readonly Step[] {
  return [open("only", rpc, request, options), finish("only", end)];
}

/** Lets the agents at a gate go on. */
export function release(gate: string): Step {
  return { kind: "release", gate };
}

/** Waits until an agent is at a gate. */
export function reached(gate: string): Step {
  return { kind: "reached", gate };
}

/** Waits until the clock shows another millisecond, so that two status times differ. */
export const tick: Step = { kind: "tick" };

/** A request to send a text, with a message id of its own; `message` and `more` add to message and request. */
export function say(text: string, message: JsonObject = {}, more: JsonObject = {}): JsonObject {
  return { message: { messageId: "{new}", role: "ROLE_USER", parts: [{ text }], ...message }, ...more };
}

/** As `say`, answered without waiting for the task. */
export function sayAndGo(text: string, message: JsonObject = {}): JsonObject {
  return say(text, message, { configuration: { returnImmediately: true } });
}

/** A service parameter that is missing in a request for every operation: the requests that fit otherwise. */
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

/** Whether the answer to an rpc is a stream. */
export function isStreaming(rpc: string): boolean {
  return rpc === "SendStreamingMessage" || rpc === "SubscribeToTask";
}

/** A call of any operation that has to fail. */
export function refused(rpc: string, request: JsonObject, error: ErrorPattern, options?: StepOptions): readonly Step[] {
  return isStreaming(rpc) ? stream(rpc, request, { error }, options) : [call(rpc, request, { error }, options)];
}
