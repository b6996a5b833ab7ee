import { isSupportedVersion, unsupportedVersion, VERSION_PARAMETER } from "../../wire/service-params.js";
import type { Interceptor } from "../invoke.js";

/**
 * Checks the protocol version that the client asks for in a header, metadata or a query parameter. An empty value means
 * 0.3. Without a value, the version that package, method or path imply is used; with `strict`, an absent value counts as
 * an empty one. Patch numbers are ignored (specification 3.6, 3.6.1, 3.6.2).
 */
export function version(strict: boolean): Interceptor {
  return (next) => (invocation) => {
    const { call } = invocation;
    const asked = call.header(VERSION_PARAMETER) ?? (strict ? "" : (call.impliedVersion ?? ""));
    if (!isSupportedVersion(asked)) throw unsupportedVersion(asked);
    return next(invocation);
  };
}
