import { A2AError, invalid } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import { EXTENSIONS_PARAMETER, parseExtensions } from "../../wire/service-params.js";
import type { Interceptor } from "../invoke.js";

/** The longest header that is read, in characters. */
const maxHeaderLength = 8_192;

/**
 * Activates the extensions that the client asks for and the agent declares, echoes them, and refuses a call that
 * leaves out a required one, in every operation (specification 3.3.4, 4.6.1, 4.6.3). Unknown extensions are ignored; there
 * is no fall-back to another version of an extension.
 */
export function extensions(limits: Limits): Interceptor {
  return (next) => (invocation) => {
    const { call, served } = invocation;
    const header = call.header(EXTENSIONS_PARAMETER);
    const declared = served?.card.capabilities?.extensions ?? [];
    const requestedUris = header === undefined ? noExtensions : requested(header, limits.maxExtensions);
    const missing = declared.find((extension) => extension.required && !requestedUris.has(extension.uri));
    if (missing !== undefined) {
      throw new A2AError("EXTENSION_SUPPORT_REQUIRED", `The agent requires the extension ${missing.uri}.`, {
        metadata: { extension: missing.uri },
      });
    }
    if (requestedUris.size > 0) {
      const active = declared.map(({ uri }) => uri).filter((uri) => requestedUris.has(uri));
      call.extensions = new Set(active);
      if (active.length > 0) call.responseHeaders.set(EXTENSIONS_PARAMETER, active.join(","));
    }
    return next(invocation);
  };
}

const noExtensions: ReadonlySet<string> = new Set();

function requested(header: string, max: number): ReadonlySet<string> {
  const uris = header.length > maxHeaderLength ? undefined : parseExtensions(header);
  if (uris !== undefined && uris.length <= max) return new Set(uris);
  throw invalid([{ field: EXTENSIONS_PARAMETER, description: `asks for more than ${max} extensions` }]);
}
