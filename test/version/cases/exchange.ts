import type { JsonValue } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import type { Answer } from "../../support/http.js";
import { readSse } from "../../support/sse.js";
import type { Request } from "./case.js";
import type { World } from "./world.js";

/** Answer to a request. */
export interface Outcome {
  /** A code of HTTP, or the name of a status of gRPC. */
  readonly status: JsonValue;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined if the answer has no body, or if the body is not JSON. */
  readonly body?: JsonValue | undefined;
  readonly events?: readonly JsonValue[];
  /** Their ids, where the binding has any. */
  readonly ids?: readonly (string | undefined)[];
  /** True if the server ended the stream. */
  readonly ended?: boolean;
}

export interface ExchangeOptions {
  /** Runs once the stream is open. */
  readonly during?: () => Promise<void>;
  /** Leaves the stream when so many events are here. */
  readonly leaveAfter?: number | undefined;
  /** Milliseconds until an answer counts as hanging. Default 20,000. */
  readonly patience?: number;
}

/** Sends a request, and waits for its whole answer. */
export function exchange(
  request: Request,
  world: Pick<World, "grpc" | "http" | "url">,
  options: ExchangeOptions = {},
): Promise<Outcome> {
  return request.method === "GRPC" ? overGrpc(request, world, options) : overHttp(request, world, options);
}

async function overGrpc(
  request: Request,
  { grpc }: Pick<World, "grpc">,
  { during = async () => {}, leaveAfter, patience = 20_000 }: ExchangeOptions,
): Promise<Outcome> {
  const { status, headers, messages, isStream } = await grpc.call(request, { opened: during, leaveAfter, patience });
  if (isStream) return { status, headers, events: messages, ended: status !== "DEADLINE_EXCEEDED" };
  return { status, headers, body: messages[0] };
}

async function overHttp(
  { method, path, headers, body, rawBody }: Request,
  { http, url }: Pick<World, "http" | "url">,
  { during = async () => {}, leaveAfter, patience = 20_000 }: ExchangeOptions,
): Promise<Outcome> {
  const leave = new AbortController();
  const timer = setTimeout(() => leave.abort(), patience);
  try {
    const answer = await http.exchange({
      method,
      // As clients do: the path of the extended card of 0.2 has `..` in it, behind an endpoint without a slash at its end.
      url: new URL(path.replace(/^\/+/, "/"), url).href,
      headers,
      body: rawBody ?? (body === undefined ? undefined : bodyOf(body, headers["Content-Type"])),
      signal: leave.signal,
    });
    const { status } = answer;
    if (answer.headers["content-type"]?.startsWith(CONNECT_STREAM))
      return await overConnect(answer, leaveAfter, during);
    if (!answer.headers["content-type"]?.startsWith("text/event-stream")) {
      return { status, headers: answer.headers, body: jsonOf(await answer.text()) };
    }
    const done = during();
    // The `await` below throws the rejection.
    done.catch(() => {});
    const read = await eventsOf(answer, leaveAfter);
    await done;
    return { status, headers: answer.headers, ...read };
  } finally {
    clearTimeout(timer);
    leave.abort();
  }
}

/** The media type of Connect's streams. */
const CONNECT_STREAM = "application/connect+json";

function bodyOf(body: JsonValue, type: string | undefined): string | Uint8Array {
  const text = JSON.stringify(body);
  return type === CONNECT_STREAM ? encodeEnvelope(0, Buffer.from(text)) : text;
}

/** A stream of Connect: messages in envelopes, and one at the end that says how it went (Connect protocol, "Streaming-Response"). */
async function overConnect(
  { status, headers, body }: Answer,
  leaveAfter: number | undefined,
  during: () => Promise<void>,
): Promise<Outcome> {
  const done = during();
  done.catch(() => {});
  const events: JsonValue[] = [];
  let end: ConnectEnd | undefined;
  let rest = Buffer.alloc(0);
  try {
    reading: for await (const chunk of body) {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
        const json = JSON.parse(rest.subarray(5, 5 + rest.readUInt32BE(1)).toString()) as JsonValue;
        if ((rest[0] ?? 0) === 2) end = json as ConnectEnd;
        else events.push(json);
        rest = rest.subarray(5 + rest.readUInt32BE(1));
        if (events.length === leaveAfter) break reading;
      }
    }
  } catch {
    // The time is up, or the server broke off: what came is looked at.
  }
  await done;
  const ended = end !== undefined;
  const trailers = Object.entries(end?.metadata ?? {}).map(([name, values]) => [name.toLowerCase(), values.join(", ")]);
  const all = { ...headers, ...Object.fromEntries(trailers) };
  if (end?.error === undefined) return { status, headers: all, events, ended };
  return { status: end.error.code.toUpperCase(), headers: all, body: { error: { ...end.error } }, events, ended };
}

interface ConnectEnd {
  readonly error?: { readonly code: string; readonly message?: string };
  readonly metadata?: Readonly<Record<string, readonly string[]>>;
}

async function eventsOf(
  { body }: Answer,
  leaveAfter: number | undefined,
): Promise<Required<Pick<Outcome, "ended" | "events" | "ids">>> {
  const events: JsonValue[] = [];
  const ids: (string | undefined)[] = [];
  try {
    for await (const { data, id } of readSse(body)) {
      events.push(JSON.parse(data) as JsonValue);
      ids.push(id);
      if (events.length === leaveAfter) return { events, ids, ended: false };
    }
    return { events, ids, ended: true };
  } catch (error) {
    // The time is up, or the server broke off: what came is looked at.
    if (error instanceof SyntaxError) throw error;
    return { events, ids, ended: false };
  }
}

function jsonOf(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}
