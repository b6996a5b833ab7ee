import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import { type ContextKey, type ContextValues, createContextKey, createContextValues } from "@connectrpc/connect";
import type { TaskPushNotificationConfigSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";

/** Options of every call. */
export interface CallOptions {
  /** Ends the call; what it has brought about at the agent goes on. */
  readonly signal?: AbortSignal;
  /** For how long all of the call may take, retries and waits included, in milliseconds. Default: no limit but those of the client. */
  readonly timeoutMs?: number;
  /** Service parameters beside those that the client sends by itself (specification 3.2.6). */
  readonly headers?: Headers | Readonly<Record<string, string>>;
  /**
   * Id of the card's skill that the call is for: its credentials are those that the skill asks for, too (specification 4.4.5). The agent
   * is not told: the protocol has no place for it, so the message says it as the agent wants it, in its metadata for example.
   */
  readonly skill?: string;
}

/** Options of a send (specification 3.2.2). */
export interface SendOptions extends CallOptions {
  /** Media types that are accepted in the answer. Default: any. */
  readonly acceptedOutputModes?: readonly string[];
  /** At most so many messages of the task's history in the answer; 0 for none. Default: all. */
  readonly historyLength?: number;
  /** Metadata of the request. That of the message is a field of the message. */
  readonly metadata?: JsonObject;
  /** Where the agent reports what becomes of the task. */
  readonly pushNotification?: MessageInitShape<typeof TaskPushNotificationConfigSchema>;
  /**
   * Names this send, so that it can be repeated and is one: 1 to 256 characters, a new one for each message. Default: one is made
   * where the agent declares that it keeps this promise.
   */
  readonly idempotencyKey?: string;
}

/** Options of `follow`. */
export interface FollowOptions extends CallOptions {
  /**
   * A connection on which no event has come for so long counts as cut, in milliseconds, and another one is made. Signs of life below
   * the events do not count, so choose more than the agent is silent for. Default: never.
   */
  readonly stallMs?: number;
  /**
   * What the task told up to this generation is known: with exact resume only what comes after it is told, and the folded task has no
   * more than that; without it the task is told as it stands. Of a task that is over, and has told no more, one update says how it
   * stands, without text. For `follow`.
   */
  readonly afterGeneration?: number;
  /** The largest task that is folded, in bytes as JSON. Default 256 MiB. */
  readonly maxTaskBytes?: number;
}

/** Options of `stream`. */
export interface StreamOptions extends SendOptions, FollowOptions {}

/** The default of `maxTaskBytes`. */
export const MAX_FOLDED_BYTES: number = 256 * 1024 * 1024;

/** Options of a send with one answer. */
export interface SendOnceOptions extends SendOptions {
  /** Answer as soon as there is a task, instead of when it is over or waits for its client. */
  readonly returnImmediately?: boolean;
}

/** Id of the skill that a call is for, which its credentials depend on. */
export const skillKey: ContextKey<string> = /* @__PURE__ */ createContextKey("", { description: "skill" });

/** What calls for a skill are told besides; nothing where none is named. */
export interface OfSkill {
  readonly contextValues?: ContextValues;
}

const ofNone: OfSkill = {};

/** Options of a call that tell `authentication` its skill. */
export function ofSkill(skill: string | undefined): OfSkill {
  return skill === undefined ? ofNone : { contextValues: createContextValues().set(skillKey, skill) };
}
