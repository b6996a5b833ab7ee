import type { Message, SendMessageRequest, Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Client } from "../../agent/abort.js";
import type { AgentRegistration } from "../../card/agents.js";
import type { Caller, CallerToken, SharedHold } from "../../core/call.js";
import type { NewPushConfig } from "../../store/task-store.js";
import type { View } from "../../task/fold.js";
import type { Scope } from "../../task/task-names.js";
import type { TracedSpan } from "../../telemetry/tracer.js";
import type { TaskHandle } from "../read/task-handle.js";

/** A message to send, with the results of the interceptors for its call. */
export interface SendCommand {
  readonly served: AgentRegistration;
  readonly request: SendMessageRequest;
  readonly caller: Caller;
  readonly tenant: string;
  readonly extensions: ReadonlySet<string>;
  readonly traceParent: string;
  readonly traceState?: string;
  /** The span of the call, if spans are created. */
  readonly span?: TracedSpan | undefined;
  readonly requestId?: string | undefined;
  /** See `TurnRequest`. */
  readonly delegationDepth?: number;
  /** See `TurnRequest`. */
  readonly bearer?: CallerToken | undefined;
  /** Its signal fires when the client disconnects: a direct reply is then not worth finishing. */
  readonly client: Client;
  /** View of the task as of the accepted message, for a stream; undefined for none. */
  readonly capture?: View | undefined;
  /** Idempotency key and request fingerprint to store with the send. */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string } | undefined;
  /** Rejects the message by throwing an A2AError. Not called for a retry of an accepted message. */
  readonly admit?: (() => Promise<void>) | undefined;
  /** The same, for a message to an existing task. */
  readonly admitToTask?: ((task: Task) => Promise<void>) | undefined;
  /** Creates the message's push configuration for its task; both are stored together. */
  readonly pushConfig?: ((taskId: string) => NewPushConfig) | undefined;
  /** Rejects the send unless its task is at this generation. */
  readonly ifGeneration?: number | undefined;
  /** The protocol version of the call, stored with a task that it creates; undefined for the service's own. */
  readonly version?: string | undefined;
  /** True if the `taskId` of the message is a name: the task is created if it does not exist. Default false. */
  readonly namesTasks?: boolean | undefined;
  /** The memory of the request, shared with the execution of its message. */
  readonly held?: SharedHold | undefined;
}

/** Result of a send: a direct reply, or a task. */
export type SendResult =
  | { readonly kind: "message"; readonly message: Message }
  | { readonly kind: "task"; readonly task: TaskHandle };

/** The scope of a command's tasks. */
export function scopeOf({ tenant, caller }: SendCommand): Scope {
  return { tenant, owner: caller.owner };
}
