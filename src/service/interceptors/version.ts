import type { Versions } from "../../version/versions.js";
import { VERSION_PARAMETER } from "../../wire/service-params.js";
import type { Interceptor } from "../invoke.js";

/**
 * Checks the protocol version that the client asks for in a header, metadata or a query parameter. An empty value means
 * 0.3. Without a value, the version that package, method or path imply is used; with `strict`, an absent value counts as
 * an empty one. Patch numbers are ignored (specification 3.6, 3.6.1, 3.6.2). A call that names one version and is made as
 * another one has it is refused.
 */
export function version(strict: boolean, versions: Versions): Interceptor {
  const { names, native } = versions;
  return (next) => (invocation) => {
    const { call } = invocation;
    const asked = call.header(VERSION_PARAMETER) ?? (strict ? "" : (call.impliedVersion ?? ""));
    const named = versions.named(asked);
    if (named === undefined) throw versions.unsupported(asked);
    const made = call.impliedVersion ?? native.name;
    if (named !== made && names.includes(made)) throw versions.contradicted(asked, made);
    return next(invocation);
  };
}
