import type { FilePart, ModelMessage, TextPart } from "ai";
import type { Turn } from "../agent/agent.js";
import { apiMessage, type TalkMessage, type TalkOptions, type TalkPart, talkOf } from "./talk.js";

/**
 * Returns the conversation up to the message of the turn as messages of the AI SDK: texts, data as JSON, and the user's
 * images and files. Files of the agent are mentioned in its text, since models take none from their own side. Pass
 * `download: async (files) => files.map(() => null)` to the model's call unless it may fetch URLs that users choose.
 */
export async function modelMessages(turn: Turn, options: TalkOptions = {}): Promise<ModelMessage[]> {
  return (await talkOf(turn, options)).map(modelMessage);
}

export function modelMessage(message: TalkMessage): ModelMessage {
  return apiMessage(message, modelPart);
}

function modelPart(part: TalkPart): TextPart | FilePart {
  if ("text" in part) return { type: "text", text: part.text };
  const { content, mediaType, name } = part.file;
  const data = typeof content === "string" ? new URL(content) : content;
  return { type: "file", data, mediaType, ...(name === undefined ? {} : { filename: name }) };
}
