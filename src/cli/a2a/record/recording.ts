import { appendFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import type { JsonObject } from "@bufbuild/protobuf";
import { messageIn } from "../../../core/members.js";
import { isJsonObject } from "../../../wire/json-struct.js";
import { usage } from "../errors.js";
import type { RecordedAnswer } from "./answer.js";

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
  readonly agent: string;
  readonly turns: readonly RecordedTurn[];
  /** True if the last line was cut, as after a crash. */
  readonly isCut: boolean;
}

/** Writes turns to a file as they end, so that a crash loses none that is over. */
export class Recorder {
  readonly #path: string;
  readonly #clean: (text: string) => string;

  /**
   * @param clean removes secrets from a text
   * @throws Failure if the file cannot be written, or exists
   */
  constructor(
    path: string,
    agent: string,
    options: { readonly replaces: boolean; readonly clean: (text: string) => string },
  ) {
    this.#path = path;
    this.#clean = options.clean;
    const head = { format: FORMAT, version: VERSION, agent, at: new Date().toISOString() };
    try {
      writeFileSync(path, this.#line(head), { flag: options.replaces ? "w" : "wx", mode: 0o600, flush: true });
    } catch (error) {
      const isThere = (error as NodeJS.ErrnoException).code === "EEXIST";
      throw usage(isThere ? `${path} exists` : messageIn(error), isThere ? "--force replaces it" : undefined);
    }
  }

  add(turn: RecordedTurn): void {
    appendFileSync(this.#path, this.#line(turn), { flush: true });
  }

  #line(value: object): string {
    return `${this.#clean(JSON.stringify(value))}\n`;
  }
}

/** Reads a recording. @throws Failure for a file that is none, with the line */
export function readRecording(path: string): Recording {
  const text = textOf(path);
  const lines = text.split("\n");
  const rest = lines.pop() ?? "";
  const [first = "", ...others] = lines;
  const head = objectIn(first, path, 1);
  if (head.format !== FORMAT) throw usage(`${path} is not a recording`, "record writes one");
  if (head.version !== VERSION)
    throw usage(`${path} is a recording of version ${String(head.version)}, not ${VERSION}`);
  const turns = others.map((line, at) => turnIn(objectIn(line, path, at + 2), path, at + 2));
  return { agent: String(head.agent ?? ""), turns, isCut: rest !== "" };
}

function textOf(path: string): string {
  try {
    if (statSync(path).size > MAX_BYTES) throw usage(`${path} is larger than 64 MiB`);
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "syscall" in error) throw usage(messageIn(error), "name a file that record wrote");
    throw error;
  }
}

function objectIn(line: string, path: string, number: number): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(line);
    if (isJsonObject(json)) return json;
  } catch {
    // It is told below.
  }
  throw usage(`${path}, line ${number}: is not a JSON object`);
}

function turnIn(json: Record<string, unknown>, path: string, number: number): RecordedTurn {
  const { message, answer, begins, tookMs } = json;
  const isAnswer = isJsonObject(answer) && Array.isArray(answer.message) && Array.isArray(answer.artifacts);
  if (isJsonObject(message) && Array.isArray(message.parts) && isAnswer)
    return {
      begins: begins === true,
      message: message as JsonObject,
      answer: answer as unknown as RecordedAnswer,
      tookMs: Number(tookMs) || 0,
    };
  throw usage(`${path}, line ${number}: is not a turn`);
}

/** Replaces the turns of a recording. */
export function rewrite(
  path: string,
  agent: string,
  turns: readonly RecordedTurn[],
  clean: (text: string) => string,
): void {
  const recorder = new Recorder(path, agent, { replaces: true, clean });
  for (const turn of turns) recorder.add(turn);
}
