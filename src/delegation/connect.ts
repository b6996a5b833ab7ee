import type { Interceptor } from "@connectrpc/connect";
import type { Connect } from "../client/connect.js";
import type { Credential, Credentials } from "../client/credentials/credential.js";
import { checkEncrypted } from "../client/credentials/secret.js";
import type { Binding } from "../client/discovery/interfaces.js";
import { A2AError } from "../core/error.js";
import type { SubTaskClient } from "./client.js";
import type { RemoteAgentOptions } from "./options.js";
import type { RemoteLimits } from "./remotes.js";

/** Bindings whose URLs may be of the origin of the agent's card; gRPC mostly has a port of its own. */
const overHttp: readonly Binding[] = ["CONNECT", "JSONRPC", "HTTP+JSON", "GRPC-WEB"];

/** The client of another agent, for all turns of a server. */
export async function connectRemote(
  connect: Connect,
  { url, credentials, credentialHosts, passCaller = false, tls, fetch }: RemoteAgentOptions,
  { remoteTimeoutMs, remoteStallMs: stallMs, maxRemoteOutageMs }: RemoteLimits,
): Promise<SubTaskClient> {
  const client = await connect(url, {
    ...(passCaller && {
      credentials: [callerCredential, ...listOf(credentials)],
      interceptors: [callerGuard(new URL(url).origin)],
      bindings: overHttp,
    }),
    ...(!passCaller && credentials !== undefined && { credentials }),
    ...(credentialHosts !== undefined && { credentialHosts }),
    ...(tls !== undefined && { tls }),
    ...(fetch !== undefined && { fetch }),
    limits: { timeoutMs: remoteTimeoutMs, maxResumeMs: maxRemoteOutageMs },
  });
  return {
    ...client,
    stream: (message, options) => client.stream(message, { stallMs, ...options }),
    follow: (taskId, options) => client.follow(taskId, { stallMs, ...options }),
    begin: (message, options) => client.stream(message, { stallMs, ...options }),
    goOn: (taskId, after, options) =>
      client.follow(taskId, { stallMs, ...options, ...(after > 0 && { afterGeneration: after }) }),
  };
}

function listOf(credentials: Credentials | undefined): readonly Credential[] {
  if (credentials === undefined) return [];
  if (Array.isArray(credentials)) return credentials;
  const isOne = typeof (credentials as Credential).apply === "function";
  return isOne ? [credentials as Credential] : Object.values(credentials as Readonly<Record<string, Credential>>);
}

/**
 * The token of a caller goes with the headers of each call that is made on its behalf, and only to the origin that was named for the
 * other agent: a card may name interfaces anywhere. No other token of the caller would change that, so a refusal is not
 * UNAUTHENTICATED, for which the caller would be asked.
 */
function callerGuard(origin: string): Interceptor {
  return (next) => (request) => {
    if (!request.header.has("authorization")) return next(request);
    if (new URL(request.url).origin !== origin) {
      const message = `The caller's token goes to ${origin} alone, and the agent's card names ${new URL(request.url).origin}.`;
      throw new A2AError("UNSUPPORTED_OPERATION", message);
    }
    try {
      checkEncrypted(request.url);
    } catch (cause) {
      throw new A2AError("UNSUPPORTED_OPERATION", `The caller's token is not sent unencrypted to ${origin}.`, {
        cause,
      });
    }
    return next(request);
  };
}

/** Satisfies the schemes that take a bearer token by the caller's, which calls on its behalf have by themselves. */
const callerCredential: Credential = {
  fits: ({ scheme }) => {
    if (scheme.case === "httpAuthSecurityScheme") return /^bearer$/i.test(scheme.value.scheme);
    return scheme.case === "oauth2SecurityScheme" || scheme.case === "openIdConnectSecurityScheme";
  },
  apply: ({ header }) => {
    if (!header.has("authorization")) throw new A2AError("UNAUTHENTICATED", "The call has no caller.");
  },
};
