import type { Connect } from "../client/connect.js";
import type { Credential, Credentials } from "../client/credentials/credential.js";
import type { Binding } from "../client/discovery/interfaces.js";
import { callerCredential, callerGuard } from "./caller-credential.js";
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
