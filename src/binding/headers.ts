import type { NodeServerResponse } from "./binding.js";

/** Sets the headers of every answer, names and values in turns, where others are still to come. */
export function setHeaders(response: NodeServerResponse, headers: readonly string[]): NodeServerResponse {
  for (let i = 0; i < headers.length; i += 2) response.setHeader(headers[i] as string, headers[i + 1] as string);
  return response;
}
