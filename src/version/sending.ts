import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";

/** The request by which a version of the protocol sends a message. */
export interface Sending {
  /** Headers that every call of the version has. */
  readonly headers: readonly string[];
  readonly jsonRpc: { readonly method: string; readonly params: object };
  readonly rest?: { readonly path: string; readonly body: object };
  /** Over gRPC, and over Connect. */
  readonly rpc?: { readonly path: string; readonly request: object };
}

const text = "hello";
const method = A2AService.method.sendMessage.name;

/** 1.0, and those that only add to it. */
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

/** Versions from before `A2A-Version`, and before tenants: methods and paths say which one is called. */
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

/** Tells how a version sends the message "hello"; undefined for a version that is not known. */
export function sendingIn(version: string, tenant: string): Sending | undefined {
  return version.startsWith("1.") ? latest(version, tenant) : earlier.get(version);
}
