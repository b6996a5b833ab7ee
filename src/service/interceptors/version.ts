import { A2AError } from "../../core/error.js";
import { isSupportedVersion, supportedVersions, VERSION_PARAMETER } from "../../wire/service-params.js";
import type { Interceptor } from "../invoke.js";

/**
 * Takes the version that the client asks for, by header, metadata or query parameter. Present but empty is 0.3. When
 * it is absent, what package, method or path imply is taken, unless `strict`, which reads an absent one as an empty
 * one. A patch number is not considered (specification 3.6, 3.6.1, 3.6.2).
 */
export function version(strict: boolean): Interceptor {
  return (next) => async (invocation) => {
    const { call } = invocation;
    const asked = call.header(VERSION_PARAMETER) ?? (strict ? "" : (call.impliedVersion ?? ""));
    if (!isSupportedVersion(asked)) throw unsupportedVersion(asked);
    return next(invocation);
  };
}

/** The error for a version that is not spoken here; it names those that are. */
function unsupportedVersion(asked: string): A2AError {
  const supported = supportedVersions.join(", ");
  const shown = asked.trim().slice(0, 32) || "0.3";
  return new A2AError("VERSION_NOT_SUPPORTED", `A2A version ${shown} is not supported; supported: ${supported}.`, {
    metadata: { requestedVersion: shown, supportedVersions: supported },
  });
}
