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
