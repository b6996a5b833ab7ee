import type { AgentExtension } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Call } from "../../core/call.js";
import { A2AError, invalid } from "../../core/error.js";
import type { Versions } from "../../version/versions.js";
import { EXTENSIONS_PARAMETER, parseExtensions } from "../../wire/service-params.js";
import type { ServiceInterceptor } from "../invoke.js";
import { requestBounds } from "../rules.js";

/** Maximum length of the header, in characters. */
const maxHeaderLength = 8_192;

/**
 * Activates the extensions that the client requests and the agent declares, and returns them in a header. Rejects a
 * call of any operation that leaves out a required extension (specification 3.3.4, 4.6.1, 4.6.3). Unknown extensions
 * are ignored, and another version of an extension is never substituted. If the call's version has another name for the
 * parameter, both names are read and answered.
 */
export function extensions(versions: Versions): ServiceInterceptor {
  const native = versions.native.name;
  return (next) => (invocation) => {
    const { call, served } = invocation;
    const alias = call.version === native ? undefined : versions.other(call.version)?.extensionsParameter;
    const header = joinHeader(call.header(EXTENSIONS_PARAMETER), alias === undefined ? undefined : call.header(alias));
    const declared = served?.card.capabilities?.extensions ?? none;
    const requestedUris = header === undefined ? noExtensions : requested(header);
    for (const { required, uri } of declared) {
      if (required && !requestedUris.has(uri)) throw extensionRequired(uri);
    }
    if (requestedUris.size > 0) activate(call, activeOf(declared, requestedUris), alias);
    return next(invocation);
  };
}

function activeOf(declared: readonly AgentExtension[], requestedUris: ReadonlySet<string>): readonly string[] {
  return declared.map(({ uri }) => uri).filter((uri) => requestedUris.has(uri));
}

function activate(call: Call, active: readonly string[], alias: string | undefined): void {
  call.extensions = new Set(active);
  if (active.length === 0) return;
  call.responseHeaders.set(EXTENSIONS_PARAMETER, active.join(","));
  if (alias !== undefined) call.responseHeaders.set(alias, active.join(","));
}

function extensionRequired(uri: string): A2AError {
  return new A2AError("EXTENSION_SUPPORT_REQUIRED", `The agent requires the extension ${uri}.`, {
    metadata: { extension: uri },
  });
}

function joinHeader(value: string | undefined, other: string | undefined): string | undefined {
  return value === undefined || other === undefined ? (value ?? other) : `${value},${other}`;
}

const none: readonly AgentExtension[] = [];

const noExtensions: ReadonlySet<string> = new Set();

function requested(header: string): ReadonlySet<string> {
  const uris = header.length > maxHeaderLength ? undefined : parseExtensions(header);
  const max = requestBounds.maxExtensions;
  if (uris !== undefined && uris.length <= max) return new Set(uris);
  throw invalid([{ field: EXTENSIONS_PARAMETER, description: `asks for more than ${max} extensions` }]);
}
