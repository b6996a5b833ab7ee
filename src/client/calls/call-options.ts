import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import { type ContextKey, type ContextValues, createContextKey, createContextValues } from "@connectrpc/connect";
import type { TaskPushNotificationConfigSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";

/** Options of every call. */
export interface CallOptions {
  /** Ends the call, but not the work that it started at the agent. */
  readonly signal?: AbortSignal;
  /**
   * Timeout of the whole call, retries and waits included, in milliseconds. Default: only the client's own timeouts.
   */
  readonly timeoutMs?: number;
  /** Service parameters in addition to those that the client sends itself (specification 3.2.6). */
  readonly headers?: Headers | Readonly<Record<string, string>>;
  /**
   * Id of the card's skill that the call is for. Its security requirements are met in addition to the agent's
   * (specification 4.4.5). The id is not sent, because the protocol has no field for it: put it into the message as the
   * agent expects, for example into its metadata.
   */
  readonly skill?: string;
}

/** Options of a send (specification 3.2.2). */
export interface SendOptions extends CallOptions {
  /** Media types accepted in the answer. Default: any. */
  readonly acceptedOutputModes?: readonly string[];
  /** Maximum number of messages of the task's history in the answer; 0 for none. Default: all. */
  readonly historyLength?: number;
  /** Metadata of the request. The message has its own `metadata` field. */
  readonly metadata?: JsonObject;
  /** Push notification configuration to create for the task. */
  readonly pushNotification?: MessageInitShape<typeof TaskPushNotificationConfigSchema>;
  /**
   * Idempotency key, with which the send can be repeated safely: 1 to 256 characters of ASCII, a new one for each
   * message. A message without an id gets the key as its id, so that a repetition is the same request. Default:
   * generated if the agent declares support.
   */
  readonly idempotencyKey?: string;
}

/** Options of `follow`. */
export interface FollowOptions extends CallOptions {
  /**
   * Timeout of a silent connection, in milliseconds: after this time without an event it is replaced. Heartbeats of the
   * transport do not count, so choose more than the agent's longest pause. Default: never.
   */
  readonly stallMs?: number;
  /**
   * Generation up to which the caller knows the task. With exact resume only later events are delivered, and the folded
   * task contains no more than those; without it the current task is delivered. A finished task without later events
   * yields one update of its state, without text. For `follow`.
   */
  readonly afterGeneration?: number;
  /** Maximum size of the folded task, in bytes as JSON. Default 256 MiB. */
  readonly maxTaskBytes?: number;
}

/** Options of `stream`. */
export interface StreamOptions extends SendOptions, FollowOptions {}

/** The default of `maxTaskBytes`. */
export const MAX_FOLDED_BYTES: number = 256 * 1024 * 1024;

/** Options of a send with one answer. */
export interface SendOnceOptions extends SendOptions {
  /** Returns as soon as a task exists, instead of when it is finished or waits for its client. */
  readonly returnImmediately?: boolean;
}

/** Id of the skill that a call is for; its credentials depend on it. */
export const skillKey: ContextKey<string> = /* @__PURE__ */ createContextKey("", { description: "skill" });

/** Context values of calls for a skill; empty if none is named. */
export interface OfSkill {
  readonly contextValues?: ContextValues;
}

const ofNone: OfSkill = {};

/** Returns call options that pass the skill to `authentication`. */
export function ofSkill(skill: string | undefined): OfSkill {
  return skill === undefined ? ofNone : { contextValues: createContextValues().set(skillKey, skill) };
}
