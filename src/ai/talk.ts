import type { Turn } from "../agent/agent.js";
import { utf8LengthOf } from "../core/bytes.js";
import { assertOptions, aWholeNumber, type OptionChecks } from "../core/options.js";
import { type PlainPart, textOf } from "../task/plain.js";
import { fileOf, type TalkFile } from "./talk-file.js";

/** The part of a conversation that a model gets. */
export interface TalkOptions {
  /** Maximum number of messages and artifacts, the newest ones. Default 50, at most 1,000. */
  readonly limit?: number;
  /**
   * Maximum size of their texts, data and files, in bytes. Older messages are left out; the message of the turn is always
   * included. Default 4 MiB.
   */
  readonly maxBytes?: number;
}

/** A message of either side, for a model. */
export interface TalkMessage {
  readonly role: "user" | "assistant";
  readonly parts: readonly TalkPart[];
}

/** A text, which data and small text files are too, or a file. */
export type TalkPart = { readonly text: string } | { readonly file: TalkFile };

/** Something that one side said: a message of the conversation, or one of the task. */
export interface Said {
  readonly role: "user" | "agent";
  readonly parts: readonly PlainPart[];
  /** Set for an artifact, whose text parts are pieces of one text. */
  readonly artifactId?: string;
}

export const talkChecks: OptionChecks<TalkOptions> = {
  limit: aWholeNumber(1, 1_000),
  maxBytes: aWholeNumber(1, Number.MAX_SAFE_INTEGER),
};

const defaults = { limit: 50, maxBytes: 4_194_304 };

/**
 * Returns the newest part of the conversation, oldest first. The sides alternate, and the first one is the user: some
 * models reject anything else.
 *
 * @param among selects messages
 */
export async function talkOf(
  turn: Turn,
  options: TalkOptions,
  among: (said: { readonly taskId: string }) => boolean = () => true,
): Promise<TalkMessage[]> {
  assertOptions("The options of the messages", options, talkChecks);
  const { limit = defaults.limit, maxBytes = defaults.maxBytes } = options;
  const all = (await turn.conversation.messages({ limit })).filter(among);
  const kept: TalkMessage[] = [];
  let bytes = 0;
  for (const said of all.toReversed()) {
    const message = talkMessage(said);
    bytes += message.parts.reduce((sum, part) => sum + sizeOf(part), 0);
    if (bytes > maxBytes && kept.length > 0) break;
    kept.push(message);
  }
  return mergeMessages(kept.toReversed());
}

/** Converts a message of one side. Models accept no files from their own side, so the agent's files are only mentioned. */
export function talkMessage({ role, parts, artifactId }: Said): TalkMessage {
  const isUser = role === "user";
  const content: TalkPart[] = [];
  let text: string | undefined;
  for (const part of parts) {
    // The pieces of an artifact's text are joined as they were streamed.
    const isMore = artifactId !== undefined && part.text !== undefined && text !== undefined;
    text = part.text === undefined ? undefined : (isMore ? text : "") + part.text;
    if (isMore && text !== undefined) content.splice(-1, 1, { text });
    else content.push(talkPart(part, isUser));
  }
  return {
    role: isUser ? "user" : "assistant",
    parts: content.filter((part) => !("text" in part) || part.text !== ""),
  };
}

function talkPart(part: PlainPart, withFiles: boolean): TalkPart {
  if (part.file !== undefined) return fileOf(part.file, withFiles);
  return { text: part.text ?? JSON.stringify(part.data) };
}

function sizeOf(part: TalkPart): number {
  if ("text" in part) return utf8LengthOf(part.text);
  const { content } = part.file;
  return typeof content === "string" ? utf8LengthOf(content) : content.length;
}

/** Joins adjacent messages of one side, and removes those before the user's first. */
export function mergeMessages(messages: readonly TalkMessage[]): TalkMessage[] {
  const result: TalkMessage[] = [];
  for (const message of messages) {
    const last = result.at(-1);
    if (message.parts.length === 0 || (last === undefined && message.role === "assistant")) continue;
    if (last?.role !== message.role) result.push(message);
    else result.splice(-1, 1, { role: last.role, parts: [...last.parts, ...message.parts] });
  }
  return result;
}

/** Returns a message as the APIs of models take it: as one text if all its parts are texts. */
export function apiMessage<P>(
  { role, parts }: TalkMessage,
  partOf: (part: TalkPart) => P,
): { role: "user"; content: string | P[] } | { role: "assistant"; content: string } {
  const texts = parts.filter((part) => "text" in part);
  const text = texts.length === parts.length ? textOf({ parts: texts }) : undefined;
  if (role === "assistant") return { role, content: text ?? "" };
  return { role, content: text ?? parts.map(partOf) };
}
