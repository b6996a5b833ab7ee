import type { Message as AnyMessage } from "@bufbuild/protobuf";
import type {
  Artifact,
  Message,
  Part,
  SendMessageRequest,
  StreamResponse,
  Task,
  TaskStatus,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { base64Of, fromBase64, utf8Of } from "../../core/bytes.js";
import type { Call } from "../../core/call.js";
import { sharedCopy } from "../../wire/serialization-cache.js";
import { type MethodHandler, mapAnswer } from "../method-handler.js";
import { isInSchema } from "./asked-dialect.js";

/**
 * Converts the files of calls from the 0.3 libraries for Python and Go. They hold a file as base64 and send that text
 * as the bytes of the contract, over gRPC and HTTP+JSON. A library is recognized by its user agent, and a request with
 * such text by its files: well-formed base64 is treated as text. Python's library fails on bytes that are not UTF-8, so
 * it always receives text. Later Go libraries accept plain bytes, so a Go client receives text only if its own request
 * contained it.
 */
export function filesAsText(service: MethodHandler): MethodHandler {
  return async (asked) => {
    const { call, request } = asked;
    const library = libraryOf(call);
    if (library === undefined || isInSchema(request)) return service(asked);
    const hadText = readFiles(request as Partial<SendMessageRequest>);
    const answer = await service(asked);
    if (!hadText && library === "go") return answer;
    return mapAnswer(answer, withText);
  };
}

function libraryOf(call: Call): "python" | "go" | undefined {
  if (call.binding === "jsonrpc") return undefined;
  const agent = call.header("user-agent") ?? "";
  if (/\b(?:grpc-python|python-httpx)\b/i.test(agent)) return "python";
  return /\b(?:grpc-go|Go-http-client)\b/i.test(agent) ? "go" : undefined;
}

/** Decodes the base64 files of a request. Returns true if there were any. */
function readFiles({ message }: Partial<SendMessageRequest>): boolean {
  let hadText = false;
  for (const part of message?.parts ?? []) {
    const bytes = part.content.case === "raw" ? base64Decoded(part.content.value) : undefined;
    if (bytes === undefined) continue;
    part.content = { case: "raw", value: bytes };
    hadText = true;
  }
  return hadText;
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Decodes bytes that are padded base64; undefined for all others. */
function base64Decoded(bytes: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  const text = new TextDecoder("latin1").decode(bytes);
  if (!base64.test(text)) return undefined;
  const decodedBytes = fromBase64(text);
  return base64Of(decodedBytes) === text ? decodedBytes : undefined;
}

/** Returns the answer with its files as text. It is a copy if it has files, because others read the same message. */
function withText<M extends AnyMessage>(answer: M): M {
  return (withTextFiles(answer as unknown as WithFiles) ?? answer) as unknown as M;
}

type WithFiles = Message | Task | Artifact | TaskStatus | (AnyMessage & Partial<Pick<StreamResponse, "payload">>);

/** Returns a copy with files as text; undefined for a message without files. */
function withTextFiles(message: WithFiles): WithFiles | undefined {
  const changes: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(message)) {
    const changed = name === "parts" ? each(value as Part[], partShown) : inner(name, value);
    if (changed !== undefined) changes[name] = changed;
  }
  return Object.keys(changes).length === 0 ? undefined : sharedCopy(message as AnyMessage, changes);
}

/** Returns a member whose messages have files as text; undefined for a member without files. */
function inner(name: string, value: unknown): unknown {
  if (name === "history" || name === "artifacts") return each(value as WithFiles[], withTextFiles);
  if ((name === "status" || name === "message" || name === "artifact") && value !== undefined) {
    return withTextFiles(value as WithFiles);
  }
  const payload = value as StreamResponse["payload"];
  if (name !== "payload" || payload.value === undefined) return undefined;
  const changed = withTextFiles(payload.value as WithFiles);
  return changed && { ...payload, value: changed };
}

function each<T>(items: readonly T[], change: (item: T) => T | undefined): T[] | undefined {
  let isChanged = false;
  const changed = items.map((item) => {
    const made = change(item);
    isChanged ||= made !== undefined;
    return made ?? item;
  });
  return isChanged ? changed : undefined;
}

function partShown(part: Part): Part | undefined {
  if (part.content.case !== "raw") return undefined;
  return { ...part, content: { case: "raw", value: utf8Of(base64Of(part.content.value)) } };
}
