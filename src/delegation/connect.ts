import type { Interceptor } from "@connectrpc/connect";
import type { Connect } from "../client/connect.js";
import { takesBearer } from "../client/credentials/bearer.js";
import { type Credential, separated } from "../client/credentials/credential.js";
import { checkEncrypted } from "../client/credentials/secret.js";
import type { Binding } from "../client/discovery/interfaces.js";
import { A2AError } from "../core/error.js";
import type { OpenTelemetryApi } from "../telemetry/api.js";
import type { SubTaskClient } from "./client.js";
import type { RemoteAgentOptions } from "./options.js";
import { type RemoteLimits, remoteBounds } from "./remotes.js";

/** Bindings that may share the origin of the agent's card; gRPC mostly has another port. */
const overHttp: readonly Binding[] = ["CONNECT", "JSONRPC", "HTTP+JSON", "GRPC-WEB"];

/** Creates the client of another agent, for all turns of a server. */
export async function connectRemote(
  connect: Connect,
  { url, credentials, credentialHosts, passCaller = false, tls, fetch }: RemoteAgentOptions,
  { remoteTimeoutMs }: RemoteLimits,
  telemetry: OpenTelemetryApi | false,
): Promise<SubTaskClient> {
  const { stallMs, maxOutageMs } = remoteBounds;
  const { named, unnamed } = separated(credentials);
  const client = await connect(url, {
    ...(passCaller && {
      credentials: [callerCredential, ...unnamed, ...Object.values(named)],
      interceptors: [callerGuard(new URL(url).origin)],
      bindings: overHttp,
    }),
    ...(!passCaller && credentials !== undefined && { credentials }),
    ...(credentialHosts !== undefined && { credentialHosts }),
    telemetry,
    ...(tls !== undefined && { tls }),
    ...(fetch !== undefined && { fetch }),
    limits: { timeoutMs: remoteTimeoutMs, maxResumeMs: maxOutageMs },
  });
  return {
    ...client,
    stream: (message, options) => client.stream(message, { stallMs, ...options }),
    follow: (taskId, options) => client.follow(taskId, { stallMs, ...options }),
    begin: (message, options) => client.stream(message, { stallMs, ...options }),
    resume: (taskId, after, options) =>
      client.follow(taskId, { stallMs, ...options, ...(after > 0 && { afterGeneration: after }) }),
  };
}

/**
 * Guards a caller's token, which is in the headers of each call on the caller's behalf. It is sent only to the
 * configured origin, since a card may name interfaces on any host. The error is not UNAUTHENTICATED, because another
 * token of the caller would not help.
 */
function callerGuard(origin: string): Interceptor {
  return (next) => (request) => {
    if (!request.header.has("authorization")) return next(request);
    if (new URL(request.url).origin !== origin) {
      const message = `The caller's token is only sent to ${origin}, but the agent's card names ${new URL(request.url).origin}.`;
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

/** Satisfies bearer token schemes with the caller's token, which such calls already carry. */
const callerCredential: Credential = {
  fits: takesBearer,
  apply: ({ header }) => {
    if (!header.has("authorization")) throw new A2AError("UNAUTHENTICATED", "The call has no caller.");
  },
};
