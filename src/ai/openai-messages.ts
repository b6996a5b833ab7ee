import type { Turn } from "../agent/agent.js";
import { base64Of } from "../core/bytes.js";
import { apiMessage, type TalkOptions, type TalkPart, talkOf } from "./talk.js";
import { mentionOf, type TalkFile } from "./talk-file.js";

/** A message of OpenAI's APIs. @typeParam P the parts of a user's message that are not all texts */
export type OpenAIMessage<P> = { role: "user"; content: string | P[] } | { role: "assistant"; content: string };

/** A part of a user's message in OpenAI's chat completions. */
export type ChatPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "input_audio"; input_audio: { data: string; format: "wav" | "mp3" } }
  | { type: "file"; file: { filename: string; file_data: string } };

/** A part of a user's message in OpenAI's responses. */
export type ResponsesPart =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url: string; detail: "auto" }
  | { type: "input_file"; filename: string; file_data: string }
  | { type: "input_file"; file_url: string };

/**
 * Returns the conversation up to the message of the turn as `messages` of OpenAI's chat completions, and of compatible
 * services: texts, data as JSON, and the user's images, PDF files and audio. Other files are mentioned in the text.
 */
export function chatMessages(turn: Turn, options: TalkOptions = {}): Promise<OpenAIMessage<ChatPart>[]> {
  return apiMessages(turn, options, chatPart);
}

/**
 * Returns the conversation up to the message of the turn as `input` of OpenAI's responses: texts, data as JSON, and the
 * user's images and PDF files. Other files are mentioned in the text.
 */
export function responsesInput(turn: Turn, options: TalkOptions = {}): Promise<OpenAIMessage<ResponsesPart>[]> {
  return apiMessages(turn, options, responsesPart);
}

async function apiMessages<P>(
  turn: Turn,
  options: TalkOptions,
  partOf: (part: TalkPart) => P,
): Promise<OpenAIMessage<P>[]> {
  return (await talkOf(turn, options)).map((message) => apiMessage(message, partOf));
}

function chatPart(part: TalkPart): ChatPart {
  if ("text" in part) return { type: "text", text: part.text };
  const { file } = part;
  const { content, kind, name } = file;
  if (kind === "image") return { type: "image_url", image_url: { url: fileUrl(file) } };
  const format = formats.find(([, pattern]) => pattern.test(file.mediaType))?.[0];
  if (typeof content === "string" || (kind !== "pdf" && format === undefined))
    return { type: "text", text: mentionOf(file) };
  if (format !== undefined) return { type: "input_audio", input_audio: { data: base64Of(content), format } };
  return { type: "file", file: { filename: name ?? DOCUMENT, file_data: fileUrl(file) } };
}

function responsesPart(part: TalkPart): ResponsesPart {
  if ("text" in part) return { type: "input_text", text: part.text };
  const { file } = part;
  if (file.kind === "image") return { type: "input_image", image_url: fileUrl(file), detail: "auto" };
  if (file.kind !== "pdf") return { type: "input_text", text: mentionOf(file) };
  if (typeof file.content === "string") return { type: "input_file", file_url: file.content };
  return { type: "input_file", filename: file.name ?? DOCUMENT, file_data: fileUrl(file) };
}

/** Name of a document without one, which the API requires. */
const DOCUMENT = "document.pdf";

/** Formats of audio that the chat API takes. */
const formats = [
  ["wav", /^audio\/(?:x-)?wav$/],
  ["mp3", /^audio\/(?:mpeg|mp3)$/],
] as const;

/** Returns the URL of a file, or a data URL with its bytes. */
function fileUrl({ content, mediaType }: TalkFile): string {
  return typeof content === "string" ? content : `data:${mediaType};base64,${base64Of(content)}`;
}
