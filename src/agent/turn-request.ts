import type { JsonObject } from "@bufbuild/protobuf";
import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Caller, CallerToken } from "../core/call.js";
import type { TracedSpan } from "../telemetry/tracer.js";

/** One accepted message with everything that its execution needs. */
export interface TurnRequest {
  /** The id that the task is stored under. Its messages have another one if their client chose it; empty for no task. */
  readonly taskId: string;
  readonly message: Message;
  /** Position of the entry that accepted it; 0 before a task exists. */
  readonly position: number;
  readonly attempt: number;
  readonly caller: Caller;
  readonly tenant: string;
  readonly extensions: ReadonlySet<string>;
  readonly acceptedOutputModes: readonly string[];
  readonly metadata: JsonObject;
  /** W3C headers of the trace that the turn continues; empty for none. */
  readonly traceParent: string;
  readonly traceState: string;
  /** The span of the call that sent the message. In memory only, and undefined without spans. */
  readonly span?: TracedSpan | undefined;
  /** Id of the request that brought the message; empty if it is not known. */
  readonly requestId?: string | undefined;
  /** Number of delegations that led to this message. */
  readonly delegationDepth?: number;
  /** The previous task that this one continues under the same client-chosen name: its messages, oldest first. */
  readonly earlier?: { readonly messages: readonly Message[]; readonly generation: number } | undefined;
  /** The bearer token of the message, if agents may pass it on. Kept in memory only. */
  readonly bearer?: CallerToken | undefined;
}
