import { appendFileSync, chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { attempt, messageIn } from "../../../core/members.js";
import { withoutSecrets } from "../../../core/net.js";
import {
  type Clean,
  headLine,
  MAX_RECORDING_BYTES,
  parseRecording,
  type Recorded,
  type RecordedTurn,
  type Recording,
  RecordingFault,
  turnLine,
} from "../../../examine/recording/format.js";
import type { Context } from "../context.js";
import { Failure, usage } from "../errors.js";
import { replaceFile } from "../replace-file.js";

/** Returns the agent of the run, as a recording names it. @throws Failure */
export async function recordedOf(context: Context): Promise<Recorded> {
  const { client, chosen } = await context.agent();
  const { binding, version, url } = chosen;
  return { agent: client.card.name, interface: { binding, version, url: withoutSecrets(url) } };
}

/** Writes turns to a file as they end, so that a crash loses no finished turn. */
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
    const head = headLine(recorded, clean);
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
    const line = turnLine(turn, this.#clean);
    const size = this.#size + Buffer.byteLength(line);
    if (size > MAX_RECORDING_BYTES) throw tooLarge(this.#path);
    attempt(() => appendFileSync(this.#path, line, { flush: true }), notWritten);
    this.#size = size;
  }
}

function notSaved(message: string, cause?: unknown): Failure {
  return new Failure("PARLEY_ERR_NOT_SAVED", `The recording cannot be written: ${message}`, { cause });
}

function notWritten(error: unknown): never {
  throw notSaved(messageIn(error), error);
}

const tooLarge = (path: string): Failure => notSaved(`${path} would be larger than 64 MiB`);

/** Reads a recording. @throws Failure for any other file, with the line */
export function readRecording(path: string): Recording & { readonly text: string } {
  const text = readRecordingFile(path);
  try {
    return { ...parseRecording(text), text };
  } catch (error) {
    if (error instanceof RecordingFault) throw usage(error.about(path), "record writes recordings");
    throw error;
  }
}

function readRecordingFile(path: string): string {
  try {
    const stat = statSync(path);
    // A pipe or device may have no end.
    if (!stat.isFile()) throw usage(`${path} is not a file`, "name a file that record wrote");
    if (stat.size > MAX_RECORDING_BYTES) throw usage(`${path} is larger than 64 MiB`);
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "syscall" in error) throw usage(messageIn(error), "name a file that record wrote");
    throw error;
  }
}

/** Replaces a recording as a whole. @throws Failure */
export function rewrite(path: string, recorded: Recorded, turns: readonly RecordedTurn[], clean: Clean): void {
  const text = headLine(recorded, clean) + turns.map((turn) => turnLine(turn, clean)).join("");
  if (Buffer.byteLength(text) > MAX_RECORDING_BYTES) throw tooLarge(path);
  attempt(() => replaceFile(path, text), notWritten);
}
