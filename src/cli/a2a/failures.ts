import { scopesAskedFor } from "../../client/credentials/call-credentials.js";
import { CardRequestError } from "../../client/discovery/discovery.js";
import { clientError } from "../../client/errors/errors.js";
import { A2AError, type Reason } from "../../core/error.js";
import { agentCodes } from "../../examine/agent-codes.js";
import { Failure, type LocalCode } from "./errors.js";
import { loginCommand, missingHint, resumeWords } from "./resume.js";
import type { Scope } from "./scope.js";

/** Converts anything thrown while a command runs. */
export function failureOf(thrown: unknown, context: Scope): Failure {
  if (thrown instanceof Failure) return thrown;
  const isOfCall = thrown instanceof Error && (thrown.name === "ConnectError" || thrown.name === "AbortError");
  if (!(thrown instanceof A2AError) && !isOfCall) return internal(thrown, context);
  return ofAgent(clientError(thrown), context);
}

/** Converts an error of reading a card. */
export function cardFailure(thrown: unknown, context: Scope): Failure {
  if (thrown instanceof Failure) return thrown;
  const error = clientError(thrown);
  const { reason, message } = error;
  if (reason === "UNAUTHENTICATED" || reason === "PERMISSION_DENIED") return authFailure(error, context);
  if (error instanceof CardRequestError)
    return local("A2ACLI_ERR_CARD_NOT_FOUND", error, "check the reference (--agent-card)");
  if (reason === "INVALID_PARAMS") return local("A2ACLI_ERR_USAGE", error, "check the reference (--agent-card)");
  if (reason === "INVALID_AGENT_RESPONSE") return new Failure("A2ACLI_ERR_CARD_INVALID", message, { cause: error });
  return ofAgent(error, context);
}

function ofAgent(error: A2AError, context: Scope): Failure {
  const { reason, message } = error;
  if (reason === "UNAUTHENTICATED" || reason === "PERMISSION_DENIED") return authFailure(error, context);
  if (reason === "UNAVAILABLE" || reason === "DEADLINE_EXCEEDED") {
    return local("A2ACLI_ERR_UNREACHABLE", error, "check that the agent runs, and the URL of its interface");
  }
  const [code, a2aCode] = agentCodes[reason] ?? ["A2ACLI_ERR_INTERNAL", error.row.http];
  return new Failure(code, message, { a2aCode, hint: hintFor(reason, context), cause: error });
}

function local(code: LocalCode, error: A2AError, hint: string): Failure {
  return new Failure(code, error.message, { hint, cause: error });
}

/** Returns the failure of a call without credentials, or with those that the agent rejected. */
function authFailure(error: A2AError, context: Scope): Failure {
  const { bearer, apiKey, auth, svcParam } = context.settings;
  if (context.usesLogin) {
    const isOver = error.metadata.signIn === "required";
    const scopes = scopesAskedFor(error)?.flatMap((scope) => ["--scope", scope]) ?? [];
    return new Failure("A2ACLI_ERR_AUTH_FAILED", isOver ? "The login has expired or was revoked." : error.message, {
      hint: `log in again: ${loginCommand(context, ...scopes)}`,
      a2aCode: error.row.http,
      cause: error,
    });
  }
  const hasAny = [bearer, apiKey, auth].some((value) => value !== undefined) || svcParam.length > 0;
  const hint = hasAny ? "check the credential; card get shows what the agent requires" : missingHint(context);
  const code = hasAny ? "A2ACLI_ERR_AUTH_FAILED" : "A2ACLI_ERR_CREDENTIALS_MISSING";
  return new Failure(code, error.message, { hint, a2aCode: error.row.http, cause: error });
}

const hints: Readonly<Partial<Record<Reason, string>>> = {
  TASK_NOT_FOUND: "check the id of the task, and run again with --debug to see the exchange",
  TASK_NOT_CANCELABLE: "the task is finished",
  VERSION_NOT_SUPPORTED: "choose another version (--a2a-version)",
  CONTENT_TYPE_NOT_SUPPORTED: "card get shows the media types that the agent accepts",
  UNSUPPORTED_OPERATION: "card get shows what the agent supports",
  METHOD_NOT_FOUND: "card get shows what the agent supports",
  TOO_MANY_REQUESTS: "try again later",
};

function hintFor(reason: Reason, context: Scope): string {
  const { task } = context;
  if (reason === "TASK_NOT_CANCELABLE" && task !== undefined) return resumeWords(context, ["task", "get"], task.id);
  return hints[reason] ?? "run again with --debug to see the exchange";
}

function internal(thrown: unknown, { settings }: Scope): Failure {
  const { message, stack = "" } = thrown instanceof Error ? thrown : new Error(String(thrown));
  const shown = settings.debug ? stack : message;
  return new Failure("A2ACLI_ERR_INTERNAL", `Unexpected error: ${shown}`, {
    hint: "run again with --debug to see where",
    cause: thrown,
  });
}
