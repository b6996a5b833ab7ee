import { orAborted } from "../../../core/async.js";
import { hasTerminal, type Io } from "../../io.js";
import { Failure, usage } from "../errors.js";
import type { Scope } from "../scope.js";

/** Longest secret, in characters. */
const MAX_LENGTH = 16 * 1024;

/**
 * Asks for a secret, which the terminal does not show.
 *
 * @throws Failure without a terminal, or after Ctrl-C
 */
export async function askSecret(context: Pick<Scope, "io" | "signal">, question: string): Promise<string> {
  const { io, signal } = context;
  const { stdin, stderr } = io;
  if (!hasTerminal(io) || stdin.setRawMode === undefined) {
    throw usage(`${question}: asking for it needs a terminal`, "pass it on stdin (--stdin)");
  }
  // Comes first, because keys may be typed as soon as the question is shown.
  stdin.setRawMode(true);
  stderr.write(`${question}: `);
  const typing = new Typing();
  let onData: (chunk: Buffer | string) => void = () => {};
  const typed = new Promise<string>((resolve, reject) => {
    onData = (chunk) => {
      try {
        if (typing.take(String(chunk))) resolve(typing.text);
      } catch (error) {
        reject(error);
      }
    };
    stdin.once("error", reject);
    stdin.once("end", () => reject(interrupted()));
  });
  stdin.on("data", onData);
  try {
    return await orAborted(typed, signal);
  } finally {
    stdin.off("data", onData);
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write("\n");
  }
}

/** Keys that are typed without an echo. In raw mode the terminal handles none of them. */
class Typing {
  #text = "";

  get text(): string {
    return this.#text;
  }

  /** Takes characters; true at the end of the line. @throws Failure for Ctrl-C and Ctrl-D */
  take(characters: string): boolean {
    // Keys such as arrows send sequences; bracketed paste is one around the text.
    const plain = characters.replaceAll(/\p{Cc}\[[\d;]*[A-Za-z~]/gu, "");
    for (const character of plain) {
      if (character === "\u0003" || character === "\u0004") throw interrupted();
      if (character === "\r" || character === "\n") return true;
      if (character === "\u007f" || character === "\b") this.#text = this.#text.slice(0, -1);
      else if (character === "\u0015") this.#text = "";
      else if (this.#text.length < MAX_LENGTH) this.#text += character;
    }
    return false;
  }
}

const interrupted = (): Failure => new Failure("PARLEY_ERR_INTERRUPTED", "Nothing was entered, and nothing is stored.");

/** Reads a secret from stdin: its first line. @throws Failure for an empty or too long one */
export async function secretFromStdin({ io, signal }: Pick<Scope, "io" | "signal">): Promise<string> {
  const text = await orAborted(firstLine(io), signal);
  if (text === "") throw usage("--stdin: stdin has no secret");
  return text;
}

async function firstLine({ stdin }: Io): Promise<string> {
  let text = "";
  for await (const chunk of stdin) {
    text += String(chunk);
    if (text.length > MAX_LENGTH) throw usage(`--stdin: the secret is longer than ${MAX_LENGTH} characters`);
    if (text.includes("\n")) break;
  }
  return text.split(/\r?\n/, 1)[0] ?? "";
}
