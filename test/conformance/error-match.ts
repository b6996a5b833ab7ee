import type { JsonObject } from "@bufbuild/protobuf";
import type { BindingName } from "../support/driver.js";
import { differences, like, type Saved } from "../support/match.js";
import type { WireError } from "../support/wire-error.js";
import type { ErrorPattern } from "./case.js";
import { errors, nativeCode } from "./errors.js";

const typeOf = (name: string): string => `type.googleapis.com/google.rpc.${name}`;

/** Returns the differences between an error and the expected one in codes, text and details. */
export function errorDifferences(
  error: WireError,
  expected: ErrorPattern,
  binding: BindingName,
  saved: Saved,
): readonly string[] {
  const { reason, fields, info, message, bare } = expected;
  const row = errors[reason];
  const isBare = bare?.[binding] !== undefined;
  const plain: JsonObject = {
    code: error.native,
    status: error.status ?? "",
    reason: error.reason ?? "",
    domain: error.domain ?? "",
    message: error.message,
  };
  return [
    ...differences(
      plain,
      {
        reason: isBare ? "" : reason,
        domain: isBare ? "" : row.domain,
        code: nativeCode(reason, binding),
        // JSON-RPC does not carry the name of a gRPC status.
        status: binding === "jsonrpc" ? "" : row.status,
        message: message ?? like(/\S/),
      },
      saved,
      "error",
    ),
    ...(isBare ? [] : detailDifferences(error, fields)),
    ...(info === undefined ? [] : differences(infoOf(error), info, saved, "error.metadata")),
  ].map((fault) => `${fault} (${error.message})`);
}

/** Checks that ErrorInfo comes first, and that BadRequest names the expected fields. */
function detailDifferences({ details }: WireError, fields: readonly string[] | undefined): string[] {
  const faults: string[] = [];
  if (details[0]?.["@type"] !== typeOf("ErrorInfo")) faults.push("error.details[0] is no ErrorInfo");
  const badRequest = details.find((detail) => detail["@type"] === typeOf("BadRequest"));
  if (fields === undefined) return faults;
  const violations = (badRequest?.fieldViolations ?? []) as { field?: string; description?: string }[];
  const found = violations.map(({ field = "" }) => field).sort();
  const wanted = [...fields].sort();
  if (JSON.stringify(found) !== JSON.stringify(wanted)) {
    faults.push(`the violated fields are ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
  }
  if (violations.some(({ description = "" }) => description === "")) faults.push("a violation has no description");
  return faults;
}

function infoOf({ details }: WireError): JsonObject {
  const info = details.find((detail) => detail["@type"] === typeOf("ErrorInfo"));
  return (info?.metadata ?? {}) as JsonObject;
}
