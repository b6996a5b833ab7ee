import { Gathered } from "../core/bytes.js";
import { A2AError } from "../core/error.js";

/** Keeps a silent connection open; clients ignore it. */
export const SSE_HEARTBEAT = ":\n\n";

/**
 * One event as it goes over the wire. `data` is JSON on one line (`onOneLine`), as `jsonWriter` makes it. The id is what clients send back as `Last-Event-ID`.
 */
export function sseFrame(data: string, id?: number): string {
  return id === undefined ? `data: ${data}\n\n` : `id: ${id}\ndata: ${data}\n\n`;
}

/** One event as it was received. */
export interface SseEvent {
  /** Undefined: not named, which makes it a `message`. */
  readonly event: string | undefined;
  readonly data: string;
  /** The last id seen on the stream so far, or empty. */
  readonly id: string;
}

/** An event longer than this, in characters, is taken for an attack or an error of the server. */
const MAX_EVENT_LENGTH = 64 * 1024 * 1024;

/**
 * Reads events from the bytes of a stream (HTML standard, section 9.2.6), wherever chunks begin and end. Comments are
 * dropped, and so is an event that the stream breaks off in the middle of.
 *
 * @throws A2AError with reason INVALID_AGENT_RESPONSE when an event exceeds `maxLength` characters.
 */
export async function* parseSse(
  chunks: AsyncIterable<Uint8Array>,
  maxLength: number = MAX_EVENT_LENGTH,
): AsyncGenerator<SseEvent, void, undefined> {
  const decoder = new TextDecoder();
  const parser = new EventParser();
  // The line that has begun, and whether a line feed would still belong to the break before it.
  let begun = "";
  let afterReturn = false;
  // Chunks that end no line, put together: a text of each of them takes many times as much.
  const rest = new Gathered();
  for await (const chunk of chunks) {
    rest.push(chunk);
    if (!chunk.includes(LINE_FEED) && !chunk.includes(RETURN)) {
      if (begun.length + parser.length + rest.size > maxLength) throw tooLong(maxLength);
      continue;
    }
    const text = decoder.decode(rest.bytes, { stream: true });
    rest.clear();
    const lines = text.slice(afterReturn && text.startsWith("\n") ? 1 : 0).split(/\r\n|\n|\r/);
    afterReturn = text.endsWith("\r");
    lines[0] = begun + lines[0];
    begun = lines.pop() ?? "";
    for (const line of lines) {
      const event = parser.line(line);
      if (event !== undefined) yield event;
    }
    if (begun.length + parser.length > maxLength) throw tooLong(maxLength);
  }
}

const LINE_FEED = 0x0a;
const RETURN = 0x0d;

function tooLong(max: number): A2AError {
  return new A2AError("INVALID_AGENT_RESPONSE", `An event of the stream exceeds ${max} characters.`);
}

/** Puts lines together to events. */
class EventParser {
  /** Characters of the event so far. */
  length = 0;
  #data: string[] = [];
  #event: string | undefined;
  #id = "";

  /** Takes a line; an empty one completes the event. */
  line(line: string): SseEvent | undefined {
    if (line === "") return this.#complete();
    this.length += line.length;
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return undefined;
  }

  #complete(): SseEvent | undefined {
    const event = { event: this.#event, data: this.#data.join("\n"), id: this.#id };
    const isEmpty = this.#data.length === 0;
    this.#data = [];
    this.#event = undefined;
    this.length = 0;
    return isEmpty ? undefined : event;
  }
}
