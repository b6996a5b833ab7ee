import { constants, createReadStream, openSync, statSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { orAborted } from "../../core/async.js";
import { messageIn } from "../../core/members.js";
import type { Context } from "./context.js";
import { usage } from "./errors.js";

/** Maximum size of a file or of stdin, in bytes. A pipe or device may have no end. */
const MAX_BYTES = 64 * 1024 * 1024;

type Reading = Pick<Context, "io" | "signal">;

/** Reads a file that a flag names. @throws Failure */
export async function fileBytes({ signal }: Pick<Reading, "signal">, path: string, flag: string): Promise<Buffer> {
  try {
    return await bytesOf(openInput(path), `${flag}: ${path}`, signal);
  } catch (error) {
    throw error instanceof Error && "syscall" in error ? usage(`${flag}: ${messageIn(error)}`) : error;
  }
}

/** Opens a file. Waiting for the writer of a named pipe would hold a thread that no signal ends. */
function openInput(path: string): Readable {
  if (statSync(path, { throwIfNoEntry: false })?.isFIFO() !== true) return createReadStream(path);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return new Socket({ fd, readable: true, writable: false });
}

/** Reads stdin to its end. @throws Failure */
export function stdinBytes({ io, signal }: Reading, flag: string): Promise<Buffer> {
  return bytesOf(io.stdin, `${flag}: stdin`, signal);
}

/** Reads stdin to its end. @throws Failure, also for bytes that are not UTF-8 */
export async function stdinText(reading: Reading, flag: string): Promise<string> {
  return decodeInput(await stdinBytes(reading, flag), `${flag}: stdin`);
}

/** Decodes an input, without its byte order mark. @throws Failure for bytes that are not UTF-8 */
export function decodeInput(bytes: Uint8Array, input: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw usage(`${input} is not text in UTF-8`);
  }
}

async function bytesOf(stream: Readable, input: string, signal: AbortSignal): Promise<Buffer> {
  try {
    return await orAborted(boundedBytes(stream, input), signal);
  } finally {
    // A stream that waits for its next bytes would keep the process alive.
    stream.destroy();
  }
}

async function boundedBytes(stream: Readable, input: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const read = Buffer.from(chunk);
    bytes += read.length;
    if (bytes > MAX_BYTES) throw usage(`${input} is larger than 64 MiB`);
    chunks.push(read);
  }
  return Buffer.concat(chunks);
}
