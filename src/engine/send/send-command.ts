import type { Message, SendMessageRequest, Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Client } from "../../agent/abort.js";
import type { AgentRegistration } from "../../card/agents.js";
import type { SharedHold } from "../../core/call.js";
import type { Caller, CallerToken } from "../../core/caller.js";
import type { NewPushConfig } from "../../store/task-store.js";
import type { View } from "../../task/fold.js";
import type { TaskHandle } from "../read/task-handle.js";

/** One message to be sent, with what the interceptors found out about its call. */
export interface SendCommand {
  readonly served: AgentRegistration;
  readonly request: SendMessageRequest;
  readonly caller: Caller;
  readonly tenant: string;
  readonly extensions: ReadonlySet<string>;
  readonly traceParent: string;
  /** See `TurnRequest`. */
  readonly delegationDepth?: number;
  /** See `TurnRequest`. */
  readonly bearer?: CallerToken | undefined;
  /** Its signal fires when the client is gone: a direct answer is then not worth finishing. */
  readonly client: Client;
  /** What the caller wants to see of the task as of the accepted message, for a stream; undefined for nothing. */
  readonly capture?: View | undefined;
  /** Key and fingerprint under which the send is remembered. */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string } | undefined;
  /** May refuse the message before anybody sees it, by an A2AError; not asked for a retry of one that was accepted. */
  readonly admit?: (() => Promise<void>) | undefined;
  /** The same, of a message to a task that is there. */
  readonly admitToTask?: ((task: Task) => Promise<void>) | undefined;
  /** Makes the push configuration that comes with the message, for its task; it is stored together with the message. */
  readonly pushConfig?: ((taskId: string) => NewPushConfig) | undefined;
  /** Refuses the send unless its task is at this generation. */
  readonly ifGeneration?: number | undefined;
  /** The version of the protocol that the call speaks, which a task that it creates remembers; undefined for the service's own. */
  readonly version?: string | undefined;
  /**
   * The client has chosen the `taskId` of its message: where it has no such task one is created, which its owner knows by
   * that name. Default false: there has to be such a task.
   */
  readonly namesTask?: boolean | undefined;
  /** The memory of the request, which the execution of its message shares. */
  readonly held?: SharedHold | undefined;
}

/** What became of a message: a direct answer, or a task that goes on. */
export type SendResult =
  | { readonly kind: "message"; readonly message: Message }
  | { readonly kind: "task"; readonly task: TaskHandle };
