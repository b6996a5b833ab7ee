import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { servedVersions } from "./versions.js";

/** The request that sends a message in one version of the protocol. */
interface Sending {
  /** Headers of every call in the version. */
  readonly headers: readonly string[];
  readonly jsonRpc: { readonly method: string; readonly params: object };
  readonly rest?: { readonly path: string; readonly body: object };
  /** The request over gRPC and over Connect. */
  readonly rpc?: { readonly path: string; readonly request: object };
}

const text = "hello";
const method = A2AService.method.sendMessage.name;

/** 1.0, and versions that only add fields to it. */
function latest(version: string, tenant: string): Sending {
  const body = { message: { messageId: "1", role: "ROLE_USER", parts: [{ text }] } };
  const request = tenant === "" ? body : { tenant, ...body };
  const below = tenant === "" ? "" : `/${encodeURIComponent(tenant)}`;
  return {
    headers: [`a2a-version: ${version}`],
    jsonRpc: { method, params: request },
    rest: { path: `${below}/message:send`, body },
    rpc: { path: `${A2AService.typeName}/${method}`, request },
  };
}

/** Returns the request that sends the message "hello" in a version; undefined for an unknown version. */
export function sendingIn(version: string, tenant: string): Sending | undefined {
  const { example, methods = {}, paths: [prefix] = [], grpc } = servedVersions.other(version) ?? {};
  if (example === undefined) return version.startsWith("1.") ? latest(version, tenant) : undefined;
  const { params, body } = example;
  const name = Object.keys(methods).find((each) => methods[each] === method) ?? "";
  return {
    // Such versions are older than `A2A-Version` and tenants: methods and paths identify them.
    headers: [],
    jsonRpc: { method: name, params },
    ...(body && {
      rest: { path: `${prefix}message:send`, body },
      rpc: { path: `${grpc?.typeName}/${method}`, request: body },
    }),
  };
}
