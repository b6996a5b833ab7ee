import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from "openid-client";
import { A2AError, toA2AError } from "../../core/error.js";
import { issuerUnavailable } from "./issuer-fetch.js";

/** True if the issuer rejected the grant itself, so that a retry is useless. */
export const isInvalidGrant = (error: unknown): boolean =>
  error instanceof ResponseBodyError && error.error === "invalid_grant";

/**
 * Converts an error of a flow for the caller. Texts of the issuer are included only if short and plain (secrets of the
 * request are already masked). Errors of the library contain whole answers, with tokens, so they are never a cause.
 */
export function issuerFailure(error: unknown): A2AError {
  const own = ownError(error);
  if (own !== undefined) return own;
  if (error instanceof ResponseBodyError) {
    const { status, error: code, error_description: description } = error;
    const errorCode = asciiText(code) ?? "an error";
    const more = asciiText(description);
    const why = more === undefined ? errorCode : `${errorCode} (${more})`;
    if (isTemporary(status) || code === "temporarily_unavailable" || code === "server_error") {
      return issuerUnavailable(`${errorCode}, status ${status}`, retryAfter(error.response));
    }
    return new A2AError("UNAUTHENTICATED", `The issuer of tokens refused: ${why}.`, issuerFact(errorCode));
  }
  if (error instanceof AuthorizationResponseError) {
    const errorCode = asciiText(error.error) ?? "an error";
    return new A2AError("UNAUTHENTICATED", `The sign-in was refused: ${errorCode}.`, issuerFact(errorCode));
  }
  if (error instanceof WWWAuthenticateChallengeError) {
    const errorCode = error.cause.map(({ parameters }) => asciiText(parameters.error)).find((it) => it !== undefined);
    const message = `The issuer of tokens refused the client: ${errorCode ?? `status ${error.status}`}.`;
    return new A2AError("UNAUTHENTICATED", message, issuerFact(errorCode ?? "invalid_client"));
  }
  if (!(error instanceof ClientError)) return new A2AError("UNAUTHENTICATED", "Getting a token failed.");
  if (error.code === "OAUTH_TIMEOUT" || error.code === "OAUTH_ABORT") return issuerUnavailable("it takes too long");
  const { cause } = error;
  if (cause instanceof Response) {
    const what = error.code === "OAUTH_RESPONSE_IS_NOT_JSON" ? "its answer is not JSON, status" : "status";
    return issuerUnavailable(`${what} ${cause.status}`, retryAfter(cause));
  }
  // The library's messages are its own texts.
  return new A2AError("UNAUTHENTICATED", `The issuer's answer is invalid: ${error.message}.`);
}

/** Returns an error of ours from within the library's. */
function ownError(error: unknown): A2AError | undefined {
  let inner = error;
  for (let depth = 0; depth < 8 && inner instanceof Error; depth++) {
    if (inner instanceof A2AError) return toA2AError(inner);
    inner = inner.cause;
  }
  return undefined;
}

const issuerFact = (errorCode: string): { metadata: Record<string, string> } => ({
  metadata: { issuerError: errorCode },
});

const isTemporary = (status: number): boolean => status === 429 || status === 408 || status >= 500;

function retryAfter(response: Response): { retryAfterMs?: number } {
  const seconds = response.headers.get("retry-after") ?? "";
  return /^\d{1,6}$/.test(seconds) ? { retryAfterMs: Number(seconds) * 1_000 } : {};
}

function asciiText(text: unknown): string | undefined {
  return typeof text === "string" && text !== "" ? text.slice(0, 200).replace(/[^\x20-\x7e]/g, "?") : undefined;
}

/** Returns the error of a call that was aborted while it waited. */
export function abandoned(reason: unknown): A2AError {
  if (reason instanceof A2AError || (reason instanceof Error && reason.name === "ConnectError"))
    return toA2AError(reason);
  const isLate = reason instanceof Error && reason.name === "TimeoutError";
  return isLate
    ? new A2AError("DEADLINE_EXCEEDED", "The deadline of the call passed before it had a token.")
    : new A2AError("CANCELLED", "The call was cancelled before it had a token.");
}
