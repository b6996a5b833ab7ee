import type { JsonObject } from "@bufbuild/protobuf";
import { type Message, MessageSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { attempt } from "../../core/members.js";
import { jsonReader } from "../../wire/json-reader.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { UNCHECKED_JSON_LEVELS } from "../../wire/nesting.js";
import { parsedJson } from "../../wire/parsed-json.js";
import { type RecordedAnswer, recordedAnswerIn } from "./answer.js";

/** Largest recording, in bytes. */
export const MAX_RECORDING_BYTES: number = 64 * 1024 * 1024;

const FORMAT = "parley-recording";
const VERSION = 1;

export interface RecordedTurn {
  /** True if it begins a new conversation. */
  readonly begins: boolean;
  /** The user's message as JSON of the protocol, without ids. */
  readonly message: JsonObject;
  readonly answer: RecordedAnswer;
  readonly tookMs: number;
}

/** The agent of a recording. */
export interface Recorded {
  readonly agent: string;
  /** The interface that was called. */
  readonly interface: { readonly binding: string; readonly version: string; readonly url: string };
}

export interface Recording extends Recorded {
  /** Time of the recording, as it is in the file; empty if the file has none. */
  readonly at: string;
  readonly turns: readonly RecordedTurn[];
  readonly messages: readonly Message[];
  /** True if the last line was cut, as after a crash. */
  readonly isCut: boolean;
}

/** Removes secrets from a text. */
export type Clean = (text: string) => string;

/** The reason for which a text is not a recording. Its message is the predicate of a sentence about the file. */
export class RecordingFault extends Error {
  /** Number of the line; undefined for a fault of the whole. */
  readonly line: number | undefined;

  constructor(message: string, line?: number) {
    super(message);
    this.name = "RecordingFault";
    this.line = line;
  }

  /** Returns the sentence about a file. */
  about(name: string): string {
    return this.line === undefined ? `${name} ${this.message}` : `${name}, line ${this.line}: ${this.message}`;
  }
}

/** Returns the first line of a recording. */
export function headLine(recorded: Recorded, clean: Clean): string {
  const { agent, interface: called } = recorded;
  return jsonLine({ format: FORMAT, version: VERSION, agent, interface: called, at: new Date().toISOString() }, clean);
}

export function turnLine({ begins, message, answer, tookMs }: RecordedTurn, clean: Clean): string {
  return jsonLine({ begins, message, answer, tookMs }, clean);
}

/** Only values are cleaned: a short secret may be the name of a member. */
function jsonLine(value: object, clean: Clean): string {
  return `${JSON.stringify(value, (_, member: unknown) => (typeof member === "string" ? clean(member) : member))}\n`;
}

const writeMessage = jsonWriter(MessageSchema);
const readMessage = jsonReader(MessageSchema);

/** Returns a message as a recording has it: without ids, which another conversation does not know. */
export function recordedMessage(message: Message): JsonObject {
  const json = JSON.parse(writeMessage(message)) as JsonObject;
  const { messageId: _, contextId: __, taskId: ___, referenceTaskIds: ____, ...rest } = json;
  return rest;
}

/** Reads a recording. @throws RecordingFault for any other text */
export function parseRecording(text: string): Recording {
  const lines = text.split("\n");
  const rest = lines.at(-1) ?? "";
  // A file that was edited may lack the last end of line.
  const isCut = rest !== "" && parsedJson(rest) === undefined;
  if (isCut || rest === "") lines.pop();
  const [first = "", ...others] = lines;
  const head = objectIn(first, 1);
  if (head.format !== FORMAT) throw new RecordingFault("is not a recording");
  if (head.version !== VERSION) {
    const version = JSON.stringify(head.version ?? null).slice(0, 20);
    throw new RecordingFault(`is a recording of version ${version}, not ${VERSION}`);
  }
  if (others.length === 0) throw new RecordingFault("has no turns");
  const turns = others.map((line, at) => turnIn(objectIn(line, at + 2), at + 2));
  const messages = turns.map(({ message }, at) => readRecorded(message, at + 2));
  return { ...recordedIn(head), turns, messages, isCut };
}

function objectIn(line: string, number: number): Record<string, unknown> {
  const json = parsedJson(line);
  if (!isJsonObject(json)) throw new RecordingFault("is not a JSON object", number);
  if (isDeep(json)) throw new RecordingFault(`is nested more than ${UNCHECKED_JSON_LEVELS} levels deep`, number);
  return json;
}

/** True for JSON that is too deep for functions that call themselves for each level. */
function isDeep(json: unknown, levels: number = UNCHECKED_JSON_LEVELS): boolean {
  if (typeof json !== "object" || json === null) return false;
  return levels === 0 || Object.values(json).some((each) => isDeep(each, levels - 1));
}

function recordedIn({ agent, interface: called, at }: Record<string, unknown>): Recorded & Pick<Recording, "at"> {
  const { binding, version, url } = isJsonObject(called) ? called : {};
  return {
    agent: textOrEmpty(agent),
    interface: { binding: textOrEmpty(binding), version: textOrEmpty(version), url: textOrEmpty(url) },
    at: textOrEmpty(at),
  };
}

const timeIn = (value: unknown): number => (typeof value === "number" && Number.isFinite(value) ? value : 0);

const textOrEmpty = (value: unknown): string => (typeof value === "string" ? value : "");

function turnIn(json: Record<string, unknown>, number: number): RecordedTurn {
  const { message, begins, tookMs } = json;
  const answer = recordedAnswerIn(json.answer);
  if (isJsonObject(message) && Array.isArray(message.parts) && answer !== undefined)
    return { begins: begins === true, message: message as JsonObject, answer, tookMs: timeIn(tookMs) };
  throw new RecordingFault("is not a turn", number);
}

function readRecorded(json: JsonObject, number: number): Message {
  const message = attempt(() => readMessage(json));
  if (message?.parts.every(({ content }) => content.case !== undefined)) return message;
  throw new RecordingFault("the message is not one of the protocol", number);
}
