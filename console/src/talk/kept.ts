import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Message, MessageSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { jsonReader } from "../../../src/wire/json-reader.js";
import { jsonWriter } from "../../../src/wire/json-writer.js";

/**
 * The conversations of this browser in its storage: the agent, ids, generations and the messages of this page, without
 * the bytes of files, and without credentials.
 */

/** Phases of a message: on its way, answered for now, left by the user (the task goes on), failed. */
export type Phase = "running" | "over" | "left" | "failed";

/** One message of this page as it is kept. */
export interface KeptTurn {
  readonly message: Message;
  readonly at: number;
  readonly phase: Phase;
  readonly taskId?: string | undefined;
  /** The answer of an agent that made no task of it. */
  readonly reply?: Message | undefined;
  readonly error?: string | undefined;
  /** The answer as a recording has it, as JSON. */
  readonly answer?: string | undefined;
  /** Time until the answer was complete, in milliseconds. */
  readonly tookMs?: number | undefined;
  /** True if a part of the message was too large to be kept. */
  readonly isCut?: boolean | undefined;
}

/** A conversation as it is kept. */
export interface KeptTalk {
  readonly id: string;
  readonly agent: string;
  readonly agentName: string;
  readonly title: string;
  /** When something was last sent, in milliseconds since 1970. */
  readonly at: number;
  readonly contextId?: string | undefined;
  /** Name of the chosen way to speak, see speech.ts. */
  readonly speech?: string | undefined;
  /** Types of answers that are accepted, with commas between them. Empty or undefined: all. */
  readonly accepts?: string | undefined;
  /** Tasks that were opened without a message of this page. */
  readonly opened: readonly string[];
  /** The last generation of each task that this page has seen. */
  readonly generations: Readonly<Record<string, number>>;
  readonly turns: readonly KeptTurn[];
}

const KEY = "parley-console-talk-";
const VERSION = 1;

/** Conversations that are kept, and messages of each. The oldest are dropped. */
const MAX_TALKS = 60;
const MAX_TURNS = 200;

/** Characters of a message that are kept. A longer answer is not kept at all. */
const MAX_MESSAGE = 100_000;

const readMessage = jsonReader(MessageSchema);
const writeMessage = jsonWriter(MessageSchema);

/** Reads all conversations, the newest first. */
export function readTalks(): readonly KeptTalk[] {
  const talks: KeptTalk[] = [];
  for (let at = 0; at < localStorage.length; at++) {
    const key = localStorage.key(at) ?? "";
    const talk = key.startsWith(KEY) ? readTalk(localStorage.getItem(key) ?? "") : undefined;
    if (talk !== undefined) talks.push(talk);
  }
  return talks.toSorted((one, other) => other.at - one.at);
}

function readTalk(text: string): KeptTalk | undefined {
  try {
    const kept = JSON.parse(text) as JsonObject & { turns: JsonObject[] };
    if (!isKept(kept)) return undefined;
    const turns = kept.turns.map((turn) => ({
      ...turn,
      message: readMessage(turn.message as JsonValue),
      ...(turn.reply !== undefined && { reply: readMessage(turn.reply) }),
    }));
    return { ...kept, turns } as unknown as KeptTalk;
  } catch {
    return undefined;
  }
}

/** True if the members that views rely on are of their types: other programs of this origin may have written them. */
function isKept({ version, id, agent, agentName, title, at, opened, generations, turns }: JsonObject): boolean {
  const areTexts = [id, agent, agentName, title].every((each) => typeof each === "string");
  const areTasks = Array.isArray(opened) && opened.every((each) => typeof each === "string");
  const areTurns =
    Array.isArray(turns) &&
    turns.every((turn) => /^(?:string|undefined)$/.test(typeof (turn as JsonObject | undefined)?.taskId));
  const hasRest = typeof at === "number" && typeof generations === "object" && generations !== null;
  return version === VERSION && areTexts && areTasks && areTurns && hasRest;
}

/** Keeps a conversation. Without room for it, the next reload drops it. */
export function keepTalk(talk: KeptTalk): void {
  const turns = talk.turns.slice(-MAX_TURNS).map(({ message, reply, answer = "", isCut = false, ...turn }) => ({
    ...turn,
    message: jsonOf(message),
    ...((isCut || isTooLarge(message)) && { isCut: true }),
    ...(answer !== "" && answer.length <= MAX_MESSAGE && { answer }),
    ...(reply !== undefined && { reply: jsonOf(reply) }),
  }));
  try {
    localStorage.setItem(KEY + talk.id, JSON.stringify({ ...talk, version: VERSION, turns }));
  } catch {
    const oldest = readTalks().findLast(({ id }) => id !== talk.id);
    if (oldest !== undefined) forgetTalk(oldest.id);
  }
  for (const { id } of readTalks().slice(MAX_TALKS)) forgetTalk(id);
}

export function forgetTalk(id: string): void {
  localStorage.removeItem(KEY + id);
}

function isTooLarge({ parts }: Message): boolean {
  return parts.some(({ content: { case: kind, value } }) =>
    kind === "raw" ? value.length > 0 : kind === "text" && value.length > MAX_MESSAGE,
  );
}

/** A message without the bytes of files and without the rest of long texts. */
function jsonOf(message: Message): JsonValue {
  const parts = message.parts.map((part) => {
    const { content } = part;
    if (content.case === "raw") return { ...part, content: { case: "raw" as const, value: new Uint8Array() } };
    if (content.case === "text" && content.value.length > MAX_MESSAGE) {
      return { ...part, content: { case: "text" as const, value: `${content.value.slice(0, MAX_MESSAGE)}…` } };
    }
    return part;
  });
  return JSON.parse(writeMessage({ ...message, parts })) as JsonValue;
}
