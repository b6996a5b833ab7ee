import { Code, ConnectError } from "@connectrpc/connect";
import { membersOf } from "../../core/members.js";
import { CommandError, type exitCodes } from "../command-error.js";
import { printable } from "../log.js";

/** Codes of refusals, by the exit code that they give. All others fail. */
const kinds: Readonly<Partial<Record<Code, keyof typeof exitCodes>>> = {
  [Code.InvalidArgument]: "usage",
  [Code.Unauthenticated]: "credentials",
  [Code.PermissionDenied]: "credentials",
  [Code.DeadlineExceeded]: "unreached",
  // The server shuts down, or its store fails.
  [Code.Unavailable]: "unreached",
};

const remedies: Readonly<Partial<Record<Code, string>>> = {
  [Code.Unauthenticated]: ". The token comes from PARLEY_ADMIN_TOKEN or --admin-token-file",
  [Code.DeadlineExceeded]: ". --timeout allows more time",
};

/** Turns the error of a call into one line and an exit code. */
export function explained(error: unknown, { place }: { readonly place: string }): unknown {
  if (!(error instanceof ConnectError)) return error;
  const { code, rawMessage } = error;
  const reason = systemCode(error);
  if (reason !== undefined) {
    return new CommandError("unreached", `${place} cannot be reached: ${printable(reason)}`, { cause: error });
  }
  if (!isAnswer(error)) {
    return new CommandError("unreached", `${place} does not answer as an operator's service`, { cause: error });
  }
  const text = code === Code.DeadlineExceeded ? "No answer in time" : rawMessage.replace(/\.$/, "");
  return new CommandError(kinds[code] ?? "failed", `${printable(text)}${remedies[code] ?? ""}`, { cause: error });
}

/** The system's code or message of a failed connection; undefined for the answer of a server. */
function systemCode({ cause }: ConnectError): string | undefined {
  for (let at = cause; at !== undefined && at !== null; at = membersOf(at).cause) {
    const { code, message } = membersOf(at);
    if (typeof code === "string" && /^(E[A-Z_]+|ERR_[A-Z_]+|[A-Z_]*CERT[A-Z_]*|UNABLE_[A-Z_]+)$/.test(code)) {
      return typeof message === "string" && message !== "" ? message : code;
    }
  }
  return undefined;
}

/** False for errors that the client made from an answer of another server. */
function isAnswer({ code, rawMessage }: ConnectError): boolean {
  return !(
    /^HTTP \d{3}$/.test(rawMessage) ||
    /^(unsupported content type|protocol error|invalid (content|response))/i.test(rawMessage) ||
    code === Code.Unimplemented
  );
}
