import { A2AError, invalid } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import type { Interceptor } from "../invoke.js";

/** No list that came from outside may be longer. */
const maxHeaderLength = 8_192;

/**
 * Activates the extensions that the client asks for and the agent declares, echoes them, and refuses a call that
 * leaves out a required one, whatever the operation (specification 3.3.4, 4.6.1, 4.6.3). Others are ignored; there
 * is no fall-back to another version of an extension.
 */
export function extensions(limits: Limits): Interceptor {
  return (next) => async (invocation) => {
    const { call, served } = invocation;
    const header = call.header("a2a-extensions");
    const declared = served?.card.capabilities?.extensions ?? [];
    const asked = header === undefined ? noExtensions : parseExtensions(header, limits.maxExtensions);
    const missing = declared.find((extension) => extension.required && !asked.has(extension.uri));
    if (missing !== undefined) {
      throw new A2AError("EXTENSION_SUPPORT_REQUIRED", `The agent requires the extension ${missing.uri}.`, {
        metadata: { extension: missing.uri },
      });
    }
    if (asked.size > 0) {
      const active = declared.map(({ uri }) => uri).filter((uri) => asked.has(uri));
      call.extensions = new Set(active);
      if (active.length > 0) call.responseHeaders.set("a2a-extensions", active.join(","));
    }
    return next(invocation);
  };
}

const noExtensions: ReadonlySet<string> = new Set();

function parseExtensions(header: string, max: number): Set<string> {
  const uris = header.length > maxHeaderLength ? undefined : header.split(",").map((uri) => uri.trim());
  if (uris === undefined || uris.length > max) {
    throw invalid([{ field: "A2A-Extensions", description: `asks for more than ${max} extensions` }]);
  }
  return new Set(uris.filter((uri) => uri !== ""));
}
