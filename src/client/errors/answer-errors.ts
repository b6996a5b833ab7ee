import { A2AError, type Reason } from "../../core/error.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { hasMediaType } from "../../wire/media-type.js";
import { parsedJson } from "../../wire/parsed-json.js";
import type { HttpAnswer } from "../platform.js";
import {
  codeNamed,
  errorOf,
  factsOf,
  reasonNamed,
  reasonOfHttp,
  reasonOfRpcCode,
  reasonOfStatus,
  reasonOfStructured,
} from "./error-facts.js";

/** The examined parts of an answer, besides its body. */
export type AnswerHead = Pick<HttpAnswer, "status" | "contentType" | "headers">;

/** Maximum characters of a body quoted in an error. */
const MAX_BODY = 200;

/**
 * Converts an error object of JSON-RPC 2.0 (section 5.1), of any release and server. Returns undefined if it is not
 * one.
 *
 * @param reasons codes with another meaning in the version of the call
 */
export function errorOfRpc(
  error: unknown,
  head: AnswerHead,
  reasons?: ReadonlyMap<unknown, Reason>,
): A2AError | undefined {
  if (!isJsonObject(error)) return undefined;
  const { code, message, data } = error;
  if (typeof code !== "number" && typeof message !== "string") return undefined;
  const fallback =
    reasons?.get(code) ?? reasonOfRpcCode(code) ?? (isSuccess(head.status) ? "INTERNAL" : reasonOfHttp(head.status));
  return errorOf(factsOf(data), errorMessage(message, code), fallback, head.headers);
}

/**
 * Converts an error body: `google.rpc.Status`, alone or under `error` (specification 11.6), a JSON-RPC error, an error
 * class name, or a problem document (RFC 9457). Returns undefined for any other body.
 */
export function errorOfBody(json: unknown, head: AnswerHead): A2AError | undefined {
  if (!isJsonObject(json)) return undefined;
  if (isJsonObject(json.error)) return errorOfStatus(json.error, head) ?? errorOfRpc(json.error, head);
  return errorOfStatus(json, head) ?? errorOfClass(json, head) ?? problemOf(json, head);
}

/** Converts an error of the Java library (0.3.3.Final): `io.a2a.spec.TaskNotFoundError`, with a text. */
function errorOfClass({ error, message }: Readonly<Record<string, unknown>>, head: AnswerHead): A2AError | undefined {
  const name = typeof error === "string" ? CLASS.exec(error)?.[1] : undefined;
  const reason = name === undefined ? undefined : reasonNamed(name);
  return reason === undefined ? undefined : errorOf({}, errorMessage(message, name), reason, head.headers);
}

const CLASS = /^(?:\w{1,40}\.){1,8}(\w{1,60}Error)$/;

function errorOfStatus(body: Readonly<Record<string, unknown>>, head: AnswerHead): A2AError | undefined {
  const { code, status, message } = body;
  const named = typeof status === "string" ? codeNamed(status) : undefined;
  if (typeof code !== "number" && named === undefined) return undefined;
  const details = body.details ?? body.data;
  return errorOf(factsOf(details), errorMessage(message, code), statusReason(code, named, head.status), head.headers);
}

/** Negative codes are JSON-RPC's, small ones gRPC's, and others HTTP's; the answer has an HTTP status as well. */
function statusReason(code: unknown, named: number | undefined, http: number): Reason {
  const number = typeof code === "number" ? code : http;
  if (number < 0) return reasonOfRpcCode(number) ?? reasonOfHttp(http);
  if (number > 0 && number < 100) return reasonOfStatus(number);
  const byHttp = reasonOfStructured(number >= 100 ? number : http);
  if (byHttp !== undefined) return byHttp;
  return named === undefined ? reasonOfHttp(http) : reasonOfStatus(named);
}

function problemOf(json: Readonly<Record<string, unknown>>, head: AnswerHead): A2AError | undefined {
  const { type, title, detail } = json;
  const isProblem = hasMediaType(head.contentType, "application/problem+json");
  if (!isProblem && (typeof type !== "string" || typeof title !== "string")) return undefined;
  const name = typeof type === "string" ? reasonNamed(type.slice(type.lastIndexOf("/") + 1)) : undefined;
  const fallback = name ?? reasonOfStructured(head.status) ?? reasonOfHttp(head.status);
  const { type: _, title: __, detail: ___, status: ____, ...members } = json;
  return errorOf(factsOf(members), errorMessage(detail ?? title, head.status), fallback, head.headers);
}

function errorMessage(message: unknown, code: unknown): string {
  return typeof message === "string" && message !== ""
    ? message
    : `The server answered with the error ${String(code)}.`;
}

/** Returns the error for an answer outside the protocol, by its status. */
export function errorOfHead(head: AnswerHead, body = ""): A2AError {
  const { status, contentType, headers } = head;
  const metadata = { httpStatus: `${status}` };
  const type = contentType === "" ? "without a content type" : `of type ${contentType.slice(0, 100)}`;
  if (status >= 300 && status < 400) {
    const to = headers.get("location");
    const text = `The server answered with a redirect (HTTP ${status})${to === null ? "" : ` to ${to.slice(0, MAX_BODY)}`}.`;
    return errorOf({ metadata }, `${text} Redirects are not followed.`, "INVALID_AGENT_RESPONSE", headers);
  }
  if (isSuccess(status)) {
    const what =
      body === "" ? "without a body" : `${type} that is not an answer of the protocol${bodyExcerpt(contentType, body)}`;
    return errorOf({ metadata }, `The server answered with HTTP ${status} ${what}.`, "INVALID_AGENT_RESPONSE", headers);
  }
  const text = `The server answered with HTTP ${status}${body === "" ? "" : `, ${type}${bodyExcerpt(contentType, body)}`}.`;
  return errorOf({ metadata }, text, reasonOfHttp(status), headers);
}

/** Returns the beginning of a readable body; markup is omitted. */
function bodyExcerpt(contentType: string, body: string): string {
  if (/html|xml|event-stream/i.test(contentType) || /^\s*</.test(body)) return "";
  const line = body
    .slice(0, MAX_BODY)
    .replaceAll(/\p{C}+/gu, " ")
    .trim();
  return line === "" ? "" : `: ${line}${body.length > MAX_BODY ? "…" : ""}`;
}

/** Returns the error for an answer with an unexpected body. */
export function errorOfAnswer(text: string, head: AnswerHead): A2AError {
  return errorOfBody(parsedJson(text), head) ?? errorOfHead(head, text);
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Returns the error for an invalid answer. */
export function badAnswer(message: string): A2AError {
  return new A2AError("INVALID_AGENT_RESPONSE", message);
}
