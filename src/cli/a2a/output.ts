import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { jsonWriter } from "../../wire/json-writer.js";
import { exit } from "../exit.js";
import { type Io, isReaderGone } from "../io.js";
import type { Failure } from "./errors.js";
import { singleLine } from "./text.js";

export interface OutputMode {
  readonly isJson: boolean;
  /** True for one object in each line. */
  readonly isLines: boolean;
  readonly isVerbose: boolean;
}

/** Writes results to stdout and everything else to stderr. */
export class Output {
  readonly mode: OutputMode;
  readonly redactor: Redactor = new Redactor();
  readonly #io: Io;

  constructor(io: Io, mode: OutputMode) {
    this.#io = io;
    this.mode = mode;
  }

  text(text: string): void {
    this.#io.stdout.write(text, (error) => {
      if (!error) return;
      // A reader that closes the pipe, such as head, is not an error.
      if (isReaderGone(error)) exit(0);
      // The rest would be lost as well. The process reports the reason before it ends.
      setImmediate(() => exit(1));
    });
  }

  /** Writes a JSON value to stdout: a document, or a line. */
  json(value: unknown, isLine: boolean = this.mode.isLines): void {
    this.text(`${escaped(isLine ? JSON.stringify(value) : JSON.stringify(value, null, 2))}\n`);
  }

  /** Writes a result: as a JSON value, or as text. */
  result(value: unknown, text: string): void {
    if (this.mode.isJson) this.json(value);
    else this.text(text);
  }

  /** Writes a message of the protocol as JSON. */
  message<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): void {
    this.json(jsonOf(desc, message));
  }

  /** Writes a line to stderr. */
  note(text: string): void {
    this.#io.stderr.write(`${singleLine(this.redactor.text(text))}\n`);
  }

  warn(text: string): void {
    this.note(`warning: ${text}`);
  }

  /** Writes a failure: with JSON to stdout in place of the result, otherwise to stderr. */
  fail({ code, message, hint, a2aCode }: Failure): void {
    const [told, next] = [this.redactor.text(message), hint === null ? null : this.redactor.text(hint)];
    if (this.mode.isJson) return this.json({ error: { code, message: told, hint: next, a2aCode } });
    this.note(`Error: ${told}`);
    this.note(`Code: ${code}`);
    if (next !== null) this.note(`Hint: ${next}`);
  }
}

/** Returns a message as a JSON value. */
export function jsonOf<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): unknown {
  return JSON.parse(jsonWriter(desc)(message));
}

/** JSON escapes the other control characters itself; these could drive a terminal, or turn its text, as well. */
function escaped(json: string): string {
  const unsafe = /[\x7f-\x9f\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;
  return json.replace(unsafe, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Shortest credential that is searched for in texts: shorter ones occur everywhere. */
const MIN_LENGTH = 4;

/** Replaces the credentials of a run in diagnostics, in each form in which a message or URL can contain them. */
class Redactor {
  readonly #forms = new Set<string>();

  add(secret: string | undefined): void {
    if (secret === undefined || secret.length < MIN_LENGTH) return;
    const base64 = Buffer.from(secret).toString("base64");
    for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), base64]) {
      this.#forms.add(form);
    }
    const query = new URLSearchParams({ k: secret }).toString().slice(2);
    this.#forms.add(query);
    // The credentials alone appear without their scheme as well.
    const [, credentials] = /^[A-Za-z-]+ +(.+)$/.exec(secret) ?? [];
    if (credentials !== undefined) this.add(credentials);
  }

  /** Returns the text without credentials. */
  text(text: string): string {
    let result = text;
    // The longest first, because one may contain another.
    for (const form of [...this.#forms].toSorted((one, other) => other.length - one.length)) {
      result = result.replaceAll(form, "[redacted]");
    }
    return result;
  }
}
