import type { Message } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { TurnRequest } from "../agent/turn-request.js";
import { hexOf } from "../core/bytes.js";
import type { RelayPlace } from "./marks.js";

/** The names of one send to another agent: the same whenever its turn runs again, and of no other send. */
export interface SendNames {
  /** The idempotency key. */
  readonly key: string;
  /** The id of the message. */
  readonly messageId: string;
}

/** Of the message whose turn sends it, in its task, and the delegation. Hashed: the other agent learns no id of ours. */
export async function sendNames(
  { message, keptAs }: TurnRequest,
  { delegation, origin }: RelayPlace,
  { messageId }: Pick<Message, "messageId"> = message,
): Promise<SendNames> {
  const names = JSON.stringify([keptAs ?? message.taskId, messageId, origin, delegation]);
  const hash = hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(names))));
  return { key: `parley-delegation-${hash.slice(0, 32)}`, messageId: `parley-${hash.slice(32)}` };
}
