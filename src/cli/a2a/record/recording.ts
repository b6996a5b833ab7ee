import { appendFileSync, chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import type { JsonObject } from "@bufbuild/protobuf";
import { messageIn } from "../../../core/members.js";
import { withoutSecrets } from "../../../core/net.js";
import { isJsonObject } from "../../../wire/json-struct.js";
import { parsedJson } from "../../../wire/parsed-json.js";
import type { Context } from "../context.js";
import { Failure, usage } from "../errors.js";
import { replaceFile } from "../replace-file.js";
import { type RecordedAnswer, recordedAnswerIn } from "./answer.js";

/** Largest recording, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;

const FORMAT = "parley-recording";
const VERSION = 1;

/** One turn of a conversation. */
export interface RecordedTurn {
  /** True if it begins a new conversation. */
  readonly begins: boolean;
  /** The user's message as JSON of the protocol, without ids. */
  readonly message: JsonObject;
  readonly answer: RecordedAnswer;
  readonly tookMs: number;
}

/** A recorded conversation. */
export interface Recording {
  readonly turns: readonly RecordedTurn[];
  /** True if the last line was cut, as after a crash. */
  readonly isCut: boolean;
}

/** The agent of a recording. */
export interface Recorded {
  readonly agent: string;
  /** The interface that was called. */
  readonly interface: { readonly binding: string; readonly version: string; readonly url: string };
}

/** Returns the agent of the run, as a recording names it. @throws Failure */
export async function recordedOf(context: Context): Promise<Recorded> {
  const { client, chosen } = await context.agent();
  const { binding, version, url } = chosen;
  return { agent: client.card.name, interface: { binding, version, url: withoutSecrets(url) } };
}

/** Removes secrets from a text. */
export type Clean = (text: string) => string;

/** Writes turns to a file as they end, so that a crash loses none that is over. */
export class Recorder {
  readonly #path: string;
  readonly #clean: Clean;
  #size: number;

  /** @throws Failure if the file cannot be written, or exists */
  constructor(
    path: string,
    recorded: Recorded,
    { replaces, clean }: { readonly replaces: boolean; readonly clean: Clean },
  ) {
    this.#path = path;
    this.#clean = clean;
    const head = headOf(recorded, clean);
    this.#size = Buffer.byteLength(head);
    try {
      writeFileSync(path, head, { flag: replaces ? "w" : "wx", mode: 0o600, flush: true });
      // A file that existed keeps its mode.
      if (replaces) chmodSync(path, 0o600);
    } catch (error) {
      const isThere = (error as NodeJS.ErrnoException).code === "EEXIST";
      throw usage(isThere ? `${path} exists` : messageIn(error), isThere ? "--force replaces it" : undefined);
    }
  }

  /** @throws Failure if the turn cannot be written */
  add(turn: RecordedTurn): void {
    const line = lineOf(turn, this.#clean);
    const size = this.#size + Buffer.byteLength(line);
    if (size > MAX_BYTES) throw tooLarge(this.#path);
    try {
      appendFileSync(this.#path, line, { flush: true });
    } catch (error) {
      throw notSaved(messageIn(error), error);
    }
    this.#size = size;
  }
}

function headOf(recorded: Recorded, clean: Clean): string {
  return lineOf({ format: FORMAT, version: VERSION, ...recorded, at: new Date().toISOString() }, clean);
}

/** Only values are cleaned: a short secret may be the name of a member. */
function lineOf(value: object, clean: Clean): string {
  return `${JSON.stringify(value, (_, member: unknown) => (typeof member === "string" ? clean(member) : member))}\n`;
}

function notSaved(message: string, cause?: unknown): Failure {
  return new Failure("PARLEY_ERR_NOT_SAVED", `The recording cannot be written: ${message}`, { cause });
}

const tooLarge = (path: string): Failure => notSaved(`${path} would be larger than 64 MiB`);

/** Reads a recording. @throws Failure for any other file, with the line */
export function readRecording(path: string): Recording {
  const text = textOf(path);
  const lines = text.split("\n");
  const rest = lines.at(-1) ?? "";
  // A file that was edited may lack the last end of line.
  const isCut = rest !== "" && parsedJson(rest) === undefined;
  if (isCut || rest === "") lines.pop();
  const [first = "", ...others] = lines;
  const head = objectIn(first, path, 1);
  if (head.format !== FORMAT) throw usage(`${path} is not a recording`, "record writes one");
  if (head.version !== VERSION)
    throw usage(`${path} is a recording of version ${String(head.version)}, not ${VERSION}`);
  const turns = others.map((line, at) => turnIn(objectIn(line, path, at + 2), path, at + 2));
  return { turns, isCut };
}

function textOf(path: string): string {
  try {
    const stat = statSync(path);
    // A pipe or device may have no end.
    if (!stat.isFile()) throw usage(`${path} is not a file`, "name a file that record wrote");
    if (stat.size > MAX_BYTES) throw usage(`${path} is larger than 64 MiB`);
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "syscall" in error) throw usage(messageIn(error), "name a file that record wrote");
    throw error;
  }
}

function objectIn(line: string, path: string, number: number): Record<string, unknown> {
  const json = parsedJson(line);
  if (isJsonObject(json)) return json;
  throw usage(`${path}, line ${number}: is not a JSON object`);
}

function turnIn(json: Record<string, unknown>, path: string, number: number): RecordedTurn {
  const { message, begins, tookMs } = json;
  const answer = recordedAnswerIn(json.answer);
  if (isJsonObject(message) && Array.isArray(message.parts) && answer !== undefined)
    return { begins: begins === true, message: message as JsonObject, answer, tookMs: Number(tookMs) || 0 };
  throw usage(`${path}, line ${number}: is not a turn`);
}

/** Replaces a recording as a whole. @throws Failure */
export function rewrite(path: string, recorded: Recorded, turns: readonly RecordedTurn[], clean: Clean): void {
  const text = headOf(recorded, clean) + turns.map((turn) => lineOf(turn, clean)).join("");
  if (Buffer.byteLength(text) > MAX_BYTES) throw tooLarge(path);
  try {
    replaceFile(path, text);
  } catch (error) {
    throw notSaved(messageIn(error), error);
  }
}
