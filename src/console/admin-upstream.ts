import { createClient } from "@connectrpc/connect";
import { AdminService } from "../../gen/parley/admin/v1/admin_pb.js";
import type { Operator } from "../admin/methods.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpResponse } from "../http/response.js";
import { headersToAgent } from "./relay-headers.js";
import { NoAnswer, passOn } from "./upstream.js";

/** The operator's service of another process. */
export interface RemoteAdmin {
  /** URL without a slash at the end. */
  readonly baseUrl: string;
  readonly token: string | undefined;
  /** Path of a Unix socket to connect to, in place of the host. */
  readonly socketPath?: string | undefined;
}

/** Returns a function that passes calls on to the operator's service of another process, with its token. */
export function remoteAdmin({ baseUrl, token, socketPath }: RemoteAdmin) {
  return async (request: HttpRequest): Promise<HttpResponse> => {
    const { path, query } = request.target;
    const url = new URL(`${baseUrl}${path}${query === "" ? "" : `?${query}`}`);
    const { authorization: _, ...headers } = headersToAgent(request.headers);
    const own = token === undefined ? headers : { ...headers, authorization: `Bearer ${token}` };
    try {
      return await passOn(request, { url, method: request.method, headers: own, socketPath });
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      // In the form of Connect.
      const message = `The operator's service cannot be reached: ${error.message}`;
      return { status: 503, type: "application/json", body: JSON.stringify({ code: "unavailable", message }) };
    }
  };
}

/** Time for the answer about the operator, in milliseconds. The page waits for it. */
const OPERATOR_MS = 3_000;

/**
 * Returns the operator of the token, or undefined if the service cannot be reached or is too old to say. The service
 * still checks the role of each call.
 */
export async function remoteOperator(remote: RemoteAdmin): Promise<Operator | undefined> {
  const { baseUrl, token, socketPath } = remote;
  const { createConnectTransport } = await import("@connectrpc/connect-node");
  const transport = createConnectTransport({
    ...{ baseUrl, httpVersion: "1.1", defaultTimeoutMs: OPERATOR_MS },
    ...(socketPath !== undefined && { nodeOptions: { socketPath } }),
  });
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  try {
    const { name, role } = await createClient(AdminService, transport).getOperator({}, { headers });
    return { name, role: role === "read" ? "read" : "write" };
  } catch {
    return undefined;
  }
}
