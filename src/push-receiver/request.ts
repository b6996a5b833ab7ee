import { Gathered, utf8Of } from "../core/bytes.js";
import { isJsonType } from "../wire/media-type.js";
import type { Bytes } from "./bytes.js";
import { PushRefusal } from "./refusal.js";

/** Headers in the forms of runtimes and frameworks. */
export type PushHeaders =
  | Pick<Headers, "get">
  | Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** A received notification: a `Request` of the Fetch API, or its parts. */
export type PushRequest =
  | Request
  | {
      /** Default `POST`. */
      readonly method?: string | undefined;
      readonly headers: PushHeaders;
      /** The exact body: signatures cover bytes, which cannot be restored after parsing. */
      readonly body: Uint8Array | string;
    };

/** A notification that was read. */
export interface ReadRequest {
  /** Returns a header; undefined if absent. @throws PushRefusal for a repeated header. */
  readonly header: (name: string) => string | undefined;
  readonly body: Bytes;
}

/** @throws PushRefusal for another method, another media type, and a body that is too large. */
export async function readRequest(request: PushRequest, maxBytes: number): Promise<ReadRequest> {
  const { method = "POST" } = request;
  const header = headerReader(request.headers);
  if (method !== "POST") throw new PushRefusal("method", "Notifications are sent by POST.");
  checkType(header);
  if (Number(header("content-length") ?? 0) > maxBytes) throw notificationTooLarge(maxBytes);
  if (!isFetchRequest(request)) return { header, body: bodyBytes(request.body, maxBytes) };
  if (request.bodyUsed) throw new TypeError("The body of the request was read before the receiver saw it.");
  return {
    header,
    body: request.body === null ? bodyBytes("", maxBytes) : await collect(chunksOf(request.body), maxBytes),
  };
}

const isFetchRequest = (request: PushRequest): request is Request => "bodyUsed" in request;

const notificationTooLarge = (maxBytes: number): PushRefusal =>
  new PushRefusal("too-large", `The notification has more than ${maxBytes} bytes.`);

/** Returns the refusal of a notification whose sender has disconnected. */
export const cutOff = (cause: unknown): PushRefusal =>
  new PushRefusal("malformed", "The connection was closed before the notification was complete.", cause);

function bodyBytes(body: Uint8Array | string, maxBytes: number): Bytes {
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw new TypeError("The body is neither bytes nor a text: give it as it was sent, before anything parses it.");
  }
  if (body.length > maxBytes) throw notificationTooLarge(maxBytes);
  const bytes = typeof body === "string" ? utf8Of(body) : new Uint8Array(body);
  if (bytes.length > maxBytes) throw notificationTooLarge(maxBytes);
  return bytes;
}

function headerReader(headers: PushHeaders): ReadRequest["header"] {
  if (typeof headers?.get === "function") {
    const { get } = headers as Pick<Headers, "get">;
    return (name) => get.call(headers, name) ?? undefined;
  }
  const byName = new Map(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  return (name) => {
    const value = byName.get(name.toLowerCase());
    if (!Array.isArray(value)) return value === undefined ? undefined : String(value);
    if (value.length > 1) throw new PushRefusal("malformed", `The header ${name} is there twice.`);
    return value[0];
  };
}

/** Checks the media type. JSON has no charset parameter and is always UTF-8 (RFC 8259), but some senders add it. */
function checkType(header: ReadRequest["header"]): void {
  const type = header("content-type") ?? "";
  if (!isJsonType(type)) {
    throw new PushRefusal("content-type", "A notification is application/a2a+json or application/json.");
  }
  const encoding = header("content-encoding") ?? "identity";
  if (encoding.toLowerCase() !== "identity") {
    throw new PushRefusal("content-type", "A notification has no content encoding.");
  }
}

/** Reads a whole body. @throws PushRefusal as soon as it exceeds the limit, without reading the rest. */
export async function collect(chunks: AsyncIterable<Uint8Array | string>, maxBytes: number): Promise<Bytes> {
  const gathered = new Gathered();
  for await (const chunk of chunks) {
    const piece = typeof chunk === "string" ? utf8Of(chunk) : chunk;
    if (gathered.size + piece.length > maxBytes) throw notificationTooLarge(maxBytes);
    gathered.push(piece);
  }
  // Copied, because the bytes may be a view of larger memory.
  return new Uint8Array(gathered.bytes);
}

/** Yields the chunks of a stream, which is not iterable in every runtime. */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw cutOff(error);
      });
      if (done) return;
      yield value;
    }
  } finally {
    // Cancels the rest after an early stop.
    await reader.cancel().catch(() => {});
  }
}
