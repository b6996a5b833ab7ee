import { type Message, Role } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { DelegatedContent } from "../agent/delegation.js";
import type { MessageContent } from "../agent/event.js";
import type { SubTaskMessage } from "./client.js";
import { contentOf } from "./relay.js";

/** The content of a delegation as a message to another agent. */
export function inputOf(content: DelegatedContent): Omit<SubTaskMessage, "messageId"> {
  if (typeof content === "string") return { parts: [{ text: content }] };
  if (Array.isArray(content)) return { parts: content };
  if (isMessage(content)) return contentOf(content) ?? { parts: [] };
  return content as MessageContent;
}

function isMessage(content: DelegatedContent): content is Message {
  return (
    (content as Partial<Message>).$typeName === "lf.a2a.v1.Message" && (content as Message).role !== Role.UNSPECIFIED
  );
}
