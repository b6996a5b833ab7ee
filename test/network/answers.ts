import { gunzipSync } from "node:zlib";
import { fromBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import type { RawAnswer } from "./raw-http.js";

/** Returns undefined for a success and the code of an error. Throws if the answer is malformed. */
export type Judge = (answer: RawAnswer) => number | string | undefined;

/** Throws an error with the answer unless the check holds. */
function must(fits: unknown, what: string, answer: RawAnswer): asserts fits {
  if (fits) return;
  const head = JSON.stringify(answer.headers);
  throw new Error(`not well formed: ${what}\n${answer.status} ${head}\n${answer.body.toString("latin1", 0, 500)}`);
}

function jsonOf(answer: RawAnswer, text = answer.body.toString()): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return must(false, "the body is no JSON", answer) as never;
  }
}

const typeOf = ({ headers }: RawAnswer): string => (headers["content-type"] ?? "").split(";")[0] ?? "";

function framesOf(answer: RawAnswer): Record<string, unknown>[] {
  const frames = answer.body.toString().split("\n\n");
  must(frames.pop() === "", "the stream ends within a frame", answer);
  const data = frames.map((frame) => frame.split("\n").filter((line) => line.startsWith("data: ")));
  return data.filter((lines) => lines.length > 0).map((lines) => jsonOf(answer, lines.map((l) => l.slice(6)).join("")));
}

const isDetail = (detail: unknown): boolean =>
  typeof detail === "object" && detail !== null && "@type" in detail && `${detail["@type"]}`.includes("google.rpc.");

/** Calls that name A2A 0.3 have its errors: the code of JSON-RPC at the top, with the name of a class. */
function olderFault(answer: RawAnswer, { code, error, message, data }: Record<string, unknown>): number {
  must(typeof error === "string" && /^[\w.]+Error$/.test(error), "error is no name of a class", answer);
  must(Number.isInteger(code) && (code as number) < 0, "code is none of JSON-RPC", answer);
  must(typeof message === "string" && message !== "", "error has no message", answer);
  must(Array.isArray(data) && data.every(isDetail), "error.data is a list of details", answer);
  return answer.status;
}

function restFault(answer: RawAnswer, json: Record<string, unknown>): number {
  if ("code" in json) return olderFault(answer, json);
  const { code, status, message, details } = (json.error ?? {}) as Record<string, unknown>;
  must(typeof code === "number" && code >= 400, "error.code is no status", answer);
  must(/^[A-Z_]+$/.test(String(status)) && typeof message === "string", "error has no status and message", answer);
  must(Array.isArray(details) && details.length > 0 && details.every(isDetail), "error has no details", answer);
  return code;
}

/** HTTP+JSON: `google.rpc.Status` under `error` (specification 11.6). */
export const rest: Judge = (answer) => {
  if (typeOf(answer) === "text/event-stream") {
    const failed = framesOf(answer).filter((frame) => "error" in frame);
    return failed[0] && restFault(answer, failed[0]);
  }
  must(/^application\/(a2a\+)?json$/.test(typeOf(answer)), "the body is of no JSON type", answer);
  const json = jsonOf(answer);
  if (answer.status === 200) return must(!("error" in json), "a success has no error", answer) as undefined;
  const code = restFault(answer, json);
  must(code === answer.status, "error.code differs from the status", answer);
  return code;
};

function rpcFault(answer: RawAnswer, response: Record<string, unknown>): number | undefined {
  must(response.jsonrpc === "2.0" && "id" in response, "a response names version and id", answer);
  must("result" in response !== "error" in response, "a response has either result or error", answer);
  if ("result" in response) return undefined;
  const { code, message, data } = response.error as Record<string, unknown>;
  must(Number.isInteger(code) && typeof message === "string" && message !== "", "error has code and message", answer);
  must(Array.isArray(data) && data.every(isDetail), "error.data is a list of details", answer);
  return code as number;
}

/** JSON-RPC: response objects (specification 9.5). */
export const jsonRpc: Judge = (answer) => {
  if (answer.status === 204) return must(answer.body.length === 0, "204 has no body", answer) as undefined;
  const streamed = typeOf(answer) === "text/event-stream";
  const json: unknown = streamed ? framesOf(answer) : jsonOf(answer);
  must(streamed || typeOf(answer) === "application/json", "the body is JSON", answer);
  const responses = (Array.isArray(json) ? json : [json]) as Record<string, unknown>[];
  return responses.map((response) => rpcFault(answer, response)).find((code) => code !== undefined);
};

const connectCodes: ReadonlySet<string> = new Set([
  ...Object.values(Code)
    .filter((code) => typeof code === "string")
    .map((code) => code.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase()),
]);

function connectFault(answer: RawAnswer, { code, message, details }: Record<string, unknown>): string {
  must(connectCodes.has(String(code)), `${String(code)} is no code`, answer);
  must(message === undefined || typeof message === "string", "message is a text", answer);
  must(details === undefined || Array.isArray(details), "details are a list", answer);
  return String(code);
}

/** Connect: JSON beside a status, or the last envelope of a stream. A type that is not served is plain 415. */
export const connect: Judge = (answer) => {
  const type = typeOf(answer);
  if ([404, 405, 415, 505].includes(answer.status) && answer.body.length === 0) return answer.status;
  if (answer.status !== 200) return connectFault(answer, jsonOf(answer));
  if (!type.startsWith("application/connect+")) {
    must(/^application\/(json|proto)$/.test(type), "the type of a unary answer", answer);
    return undefined;
  }
  const last = envelopes(answer).at(-1);
  must(last !== undefined && (last.flags & 2) === 2, "the last envelope ends the stream", answer);
  const { error } = jsonOf(answer, last.data.toString());
  return error === undefined ? undefined : connectFault(answer, error as Record<string, unknown>);
};

interface Envelope {
  readonly flags: number;
  readonly data: Buffer;
}

function envelopes(answer: RawAnswer, body: Buffer = answer.body): Envelope[] {
  const found: Envelope[] = [];
  for (let at = 0; at < body.length; ) {
    must(body.length >= at + 5, "an envelope is cut off", answer);
    const length = body.readUInt32BE(at + 1);
    must(body.length >= at + 5 + length, "an envelope is cut off", answer);
    const [flags, data] = [body.readUInt8(at), body.subarray(at + 5, at + 5 + length)];
    found.push({ flags, data: (flags & 1) === 1 ? gunzipSync(data) : data });
    at += 5 + length;
  }
  return found;
}

function grpcFault(answer: RawAnswer, headers: Readonly<Record<string, string>>): number | undefined {
  const status = headers["grpc-status"];
  must(status !== undefined && /^\d{1,2}$/.test(status) && Number(status) <= 16, "there is a grpc-status", answer);
  const details = headers["grpc-status-details-bin"];
  if (details !== undefined) {
    const { code } = fromBinary(StatusSchema, Buffer.from(details, "base64"));
    must(code === Number(status), "the details repeat the status", answer);
  }
  return status === "0" ? undefined : Number(status);
}

/** gRPC: status 200 and trailers. A request of another content type may be refused with 415. */
export const grpc: Judge = (answer) => {
  if (answer.status === 415) return 415;
  must(answer.status === 200 && typeOf(answer).startsWith("application/grpc"), "the head is one of gRPC", answer);
  envelopes(answer);
  return grpcFault(answer, answer.headers);
};

/** gRPC-Web: the trailers are the last frame of the body. An answer without messages may have them as headers. */
export const grpcWeb: Judge = (answer) => {
  if ([415, 505].includes(answer.status)) return answer.status;
  must(answer.status === 200 && typeOf(answer).startsWith("application/grpc-web"), "the head is one of it", answer);
  if (answer.headers["grpc-status"] !== undefined) return grpcFault(answer, answer.headers);
  const isText = typeOf(answer).startsWith("application/grpc-web-text");
  const body = isText ? Buffer.from(answer.body.toString(), "base64") : answer.body;
  const last = envelopes(answer, body).at(-1);
  must(last !== undefined && (last.flags & 0x80) !== 0, "the last frame has the trailers", answer);
  const lines = last.data.toString().split("\r\n").filter(Boolean);
  return grpcFault(answer, Object.fromEntries(lines.map((line) => line.split(/:\s*(.*)/s).slice(0, 2))));
};
