import { isSupportedVersion, unsupportedVersion, VERSION_PARAMETER } from "../../wire/service-params.js";
import type { Interceptor } from "../invoke.js";

/**
 * Takes the version that the client asks for, by header, metadata or query parameter. Present but empty is 0.3. When
 * it is absent, what package, method or path imply is taken, unless `strict`, which reads an absent one as an empty
 * one. A patch number is not considered (specification 3.6, 3.6.1, 3.6.2).
 */
export function version(strict: boolean): Interceptor {
  return (next) => (invocation) => {
    const { call } = invocation;
    const asked = call.header(VERSION_PARAMETER) ?? (strict ? "" : (call.impliedVersion ?? ""));
    if (!isSupportedVersion(asked)) throw unsupportedVersion(asked);
    return next(invocation);
  };
}
