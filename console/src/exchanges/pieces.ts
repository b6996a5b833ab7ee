import { type DescMessage, fromBinary, toJson } from "@bufbuild/protobuf";
import type { Envelope } from "../../../src/wire/envelopes.js";
import type { Exchange, WireBody } from "../api/exchanges.js";
import { decodeBody, hexOf, parsed, pretty } from "./bytes.js";
import { framesOf, isCompressed, isEnd } from "./frames.js";
import { isObject, type Rpc, typeOf } from "./rpc.js";

/** A part of a body: an event of a stream, a message, or all of it. */
export interface Piece {
  readonly kind: "body" | "event" | "message" | "end";
  /** Content, such as `statusUpdate`. */
  readonly about: string;
  /** Its id in a stream of events. */
  readonly id?: string;
  readonly text: string;
  readonly language: "json" | undefined;
  /** Size in bytes. */
  readonly size: number;
}

/** Most pieces of a body that are read. */
const MAX_PIECES = 2_000;

/** Splits the body of a request or an answer into its parts and makes them readable. */
export function piecesOf(exchange: Exchange, side: "request" | "response", rpc: Rpc | undefined): readonly Piece[] {
  const body = exchange[side];
  if (body.bytes.length === 0) return [];
  const type = typeOf(side === "request" ? exchange.requestHeaders : exchange.responseHeaders);
  const schema = side === "request" ? rpc?.method?.input : rpc?.method?.output;
  if (type === "text/event-stream") return eventsIn(decodeBody(body.bytes));
  if (/^application\/(?:grpc-web|connect\+)/.test(type)) {
    const isJson = type.endsWith("+json");
    return framesOf(body.bytes)
      .slice(0, MAX_PIECES)
      .map((frame) => pieceOfFrame(frame, isJson ? undefined : schema, isJson));
  }
  if (type === "application/proto") return [wholeBinary(body, schema)];
  if (/json|^text\/|xml|x-www-form-urlencoded/.test(type)) return [wholeText(body)];
  return [isText(body.bytes) ? wholeText(body) : wholeBinary(body, undefined)];
}

function wholeText({ bytes, size }: WireBody): Piece {
  const text = decodeBody(bytes);
  const value = parsed(text);
  return { kind: "body", about: aboutOf(value), size, ...readable(text, value !== undefined) };
}

function wholeBinary({ bytes, size }: WireBody, schema: DescMessage | undefined): Piece {
  const json = size === bytes.length ? messageText(bytes, schema) : undefined;
  const about = json === undefined ? "" : aboutOf(parsed(json));
  return { kind: "body", about, size, text: json ?? hexOf(bytes), language: json === undefined ? undefined : "json" };
}

function pieceOfFrame(frame: Envelope, schema: DescMessage | undefined, isJson: boolean): Piece {
  const { data } = frame;
  const size = data.length;
  if (isEnd(frame)) return { kind: "end", about: "", size, ...readable(decodeBody(data), true) };
  if (isCompressed(frame)) return { kind: "message", about: "", size, text: hexOf(data), language: undefined };
  const text = isJson ? decodeBody(data) : messageText(data, schema);
  if (text === undefined) return { kind: "message", about: "", size, text: hexOf(data), language: undefined };
  return { kind: "message", about: aboutOf(parsed(text)), size, ...readable(text, true) };
}

function messageText(bytes: Uint8Array, schema: DescMessage | undefined): string | undefined {
  if (schema === undefined) return undefined;
  try {
    return JSON.stringify(toJson(schema, fromBinary(schema, bytes)), undefined, 2);
  } catch {
    return undefined;
  }
}

/** Reads the events of a stream (HTML standard, 9.2.6). The last one may be incomplete. */
function eventsIn(text: string): Piece[] {
  return text
    .split(/\r\n\r\n|\n\n|\r\r/)
    .filter((block) => block.trim() !== "")
    .slice(0, MAX_PIECES)
    .map((block) => {
      const fields = block.split(/\r\n|\n|\r/).map((line) => /^([^:]*):? ?(.*)$/.exec(line) ?? ["", "", ""]);
      const of = (name: string): string[] =>
        fields.filter(([, each]) => each === name).map(([, , value = ""]) => value);
      const data = of("data").join("\n");
      const id = of("id").at(-1);
      const about = of("event").at(-1) ?? aboutOf(parsed(data));
      const size = new TextEncoder().encode(block).length;
      return {
        kind: "event",
        about,
        ...(id !== undefined && { id }),
        size,
        ...readable(data === "" ? block : data, true),
      };
    });
}

function readable(text: string, isJson: boolean): Pick<Piece, "text" | "language"> {
  return isJson && parsed(text) !== undefined
    ? { text: pretty(text), language: "json" }
    : { text, language: undefined };
}

/** Returns the name of the member that an answer or an event consists of. */
function aboutOf(value: unknown): string {
  if (!isObject(value)) return "";
  if (isObject(value.error)) return "error";
  const inner = isObject(value.result) ? value.result : value;
  if (typeof inner.kind === "string") return inner.kind;
  const names = Object.keys(inner);
  return names.length === 1 ? (names[0] ?? "").slice(0, 40) : "";
}

/** True if the first bytes contain only characters of texts. */
function isText(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 512).every((byte) => byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d);
}
