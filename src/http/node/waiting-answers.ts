import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { NodeServerResponse } from "./types.js";

/** Property of a connection with the answers that wait for earlier ones on it: pipelining (RFC 9112, 9.3.2). */
const waitingKey: unique symbol = Symbol("waiting");

type Pipelined = Socket & { [waitingKey]?: Set<ServerResponse> };

/**
 * Closes an answer that still waits for an earlier one when their connection closes. Node.js closes only the answer that
 * is being sent, because the others have no socket yet.
 */
export function closeWithConnection(response: NodeServerResponse): void {
  if (!(response instanceof ServerResponse) || response.socket !== null) return;
  const connection: Pipelined = response.req.socket;
  if (connection[waitingKey] === undefined) {
    connection[waitingKey] = new Set();
    connection.once("close", onConnectionClosed);
  }
  if (connection[waitingKey].has(response)) return;
  connection[waitingKey].add(response);
  response.once("socket", onSocket);
}

function onSocket(this: ServerResponse, connection: Pipelined): void {
  connection[waitingKey]?.delete(this);
}

function onConnectionClosed(this: Pipelined): void {
  for (const response of this[waitingKey] ?? []) response.destroy().emit("close");
}
