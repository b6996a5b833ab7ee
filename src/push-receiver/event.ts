import { type StreamResponse, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import { olderNotification } from "../version/older-notification.js";
import { excessOfJson } from "../wire/count-values.js";
import { jsonReader } from "../wire/json-reader.js";
import { isJsonObject } from "../wire/json-struct.js";
import type { PushOrder } from "./memory.js";
import { PushRefusal } from "./refusal.js";

/** Kind of a verified signature. */
export type PushSignature =
  | {
      readonly kind: "jwt";
      /** The server that sent it. */
      readonly issuer: string;
    }
  /** Standard Webhooks, by a shared secret (`v1`) or by Ed25519 (`v1a`). */
  | { readonly kind: "v1" | "v1a" };

/** A verified notification. */
export interface PushEvent {
  /**
   * The event (specification 3.2.3): `payload.case` is `task`, `message`, `statusUpdate` or `artifactUpdate`. In older
   * versions it is the task at that time.
   */
  readonly response: StreamResponse;
  readonly taskId: string;
  /** Empty if the payload has none. */
  readonly contextId: string;
  /** Equal in each attempt. Undefined if no signature covers it, or the sender sets none. */
  readonly eventId: string | undefined;
  /**
   * Id of the configuration that requested it. For a task whose client chose the id (A2A 0.1), it begins with the
   * task's stored id and a slash, because other clients may choose the same id. Undefined if no signature covers it.
   */
  readonly configId: string | undefined;
  /**
   * Generation of the task after this event. It increases with each event and is the cursor for resuming a stream.
   * Undefined if no signature covers it, and for a test event.
   */
  readonly generation: number | undefined;
  /**
   * True for a test event, which an operator sends to try the webhook. Nothing happened to the task: it has the status
   * that the event names. Test events are never repeats, and do not count as handled.
   */
  readonly isTest: boolean;
  /** Order relative to the handled notifications. `new` if neither id nor generation is known. */
  readonly order: PushOrder;
  /** True if it, or a later one of its task, was handled before. */
  readonly isRepeat: boolean;
  /** Time of this attempt according to the signature. Undefined if unsigned. */
  readonly sentAt: Date | undefined;
  /** The kinds of signatures that were verified. Empty if `acceptUnsigned` admitted it. */
  readonly signatures: readonly PushSignature[];
}

interface ReadBody {
  readonly response: StreamResponse;
  readonly taskId: string;
  readonly contextId: string;
}

const read = jsonReader(StreamResponseSchema);

/** @throws PushRefusal if the body is neither a `StreamResponse` in JSON nor a notification of an older version. */
export async function readBody(bytes: Uint8Array, maxValues: number): Promise<ReadBody> {
  const excess = excessOfJson(bytes, maxValues);
  if (excess === "values") throw new PushRefusal("too-large", `The notification has more than ${maxValues} values.`);
  if (excess === "levels") throw new PushRefusal("malformed", "The notification is nested too deep.");
  const response = await notifiedEvent(bytes);
  const { payload } = response;
  switch (payload.case) {
    case undefined:
      throw new PushRefusal("malformed", "The notification has no payload.");
    case "task":
      return { response, taskId: payload.value.id, contextId: payload.value.contextId };
    default:
      return { response, taskId: payload.value.taskId, contextId: payload.value.contextId };
  }
}

async function notifiedEvent(bytes: Uint8Array): Promise<StreamResponse> {
  try {
    const json: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    const older = isJsonObject(json) ? await olderNotification(json) : undefined;
    return (older ?? read)(json);
  } catch (cause) {
    const what = cause instanceof A2AError ? "is not a StreamResponse" : "is not JSON in UTF-8";
    throw new PushRefusal("malformed", `The notification ${what}.`, cause);
  }
}
