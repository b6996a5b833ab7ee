import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** The request that sends a message in one version of the protocol. */
export interface Sending {
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

const message = { kind: "message", messageId: "1", role: "user", parts: [{ kind: "text", text }] };
const request = { message: { messageId: "1", role: "ROLE_USER", content: [{ text }] } };
const v02: Sending = { headers: [], jsonRpc: { method: "message/send", params: { message } } };

/** Versions older than `A2A-Version` and tenants, which methods and paths identify. */
const earlier: ReadonlyMap<string, Sending> = new Map<string, Sending>([
  [
    "0.3",
    {
      ...v02,
      rest: { path: "/v1/message:send", body: request },
      rpc: { path: `a2a.v1.A2AService/${method}`, request },
    },
  ],
  ["0.2", v02],
  [
    "0.1",
    {
      headers: [],
      jsonRpc: {
        method: "tasks/send",
        params: { id: "1", message: { role: "user", parts: [{ type: "text", text }] } },
      },
    },
  ],
]);

/** Returns the request that sends the message "hello" in a version; undefined for an unknown version. */
export function sendingIn(version: string, tenant: string): Sending | undefined {
  return version.startsWith("1.") ? latest(version, tenant) : earlier.get(version);
}
