import type { A2AError } from "../core/error.js";
import type { HttpRequest } from "../http/request.js";
import { serviceSwitchedOff } from "../version/mismatch-errors.js";
import { VERSION_PARAMETER } from "../wire/service-params.js";
import type { BindingOptions } from "./binding.js";

/** A request for an unknown path. */
interface Unserved {
  readonly binding: string;
  readonly path: string;
  readonly from: Pick<HttpRequest, "peer" | "header" | "requestId">;
}

/** Returns and logs the error for a path of a disabled version's service. Undefined for every other path. */
export function switchedOff(
  { binding, path, from }: Unserved,
  { versions, mismatched }: Pick<BindingOptions, "mismatched" | "versions">,
): A2AError | undefined {
  const error = serviceSwitchedOff(path, versions);
  if (error === undefined) return undefined;
  mismatched?.(from, { binding, asked: path, version: from.header(VERSION_PARAMETER), why: error.message });
  return error;
}
