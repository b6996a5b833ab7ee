import { Gathered } from "../core/bytes.js";
import { A2AError } from "../core/error.js";

/** A comment that keeps a silent connection open; clients ignore it. */
export const SSE_HEARTBEAT = ":\n\n";

/**
 * Formats one event. `data` is JSON on one line (`onOneLine`), as `jsonWriter` writes it. Clients send the id back as
 * `Last-Event-ID`.
 */
export function sseFrame(data: string, id?: number): string {
  return id === undefined ? `data: ${data}\n\n` : `id: ${id}\ndata: ${data}\n\n`;
}

/** A received event. */
export interface SseEvent {
  /** Undefined for an event without a name, whose type is `message`. */
  readonly event: string | undefined;
  readonly data: string;
  /** The last id seen on the stream so far, or empty. */
  readonly id: string;
}

/** Maximum length of an event, in characters. A longer one indicates an attack or a broken server. */
const MAX_EVENT_LENGTH = 64 * 1024 * 1024;

/**
 * Reads events from the bytes of a stream (HTML standard, section 9.2.6), independent of chunk boundaries. Comments and
 * an incomplete last event are dropped.
 *
 * @throws A2AError with reason INVALID_AGENT_RESPONSE if an event exceeds `maxLength` characters
 */
export async function* parseSse(
  chunks: AsyncIterable<Uint8Array>,
  maxLength: number = MAX_EVENT_LENGTH,
): AsyncGenerator<SseEvent, void, undefined> {
  const decoder = new TextDecoder();
  const parser = new EventParser();
  // The incomplete line, and true if a line feed would belong to the preceding carriage return.
  let begun = "";
  let afterReturn = false;
  // Joins chunks without a line break, because a text for each takes many times the memory.
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

/** Joins lines to events. */
class EventParser {
  /** Characters of the event so far. */
  length = 0;
  #data: string[] = [];
  #event: string | undefined;
  #id = "";

  /** Adds a line; an empty one completes the event. */
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
