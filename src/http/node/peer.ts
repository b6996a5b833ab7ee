import type { Socket } from "node:net";
import type { Peer } from "../../core/call.js";
import type { NodeServerRequest } from "./types.js";

/** Where a connection keeps the address of its other end: every call needs it, and Node would ask the system each time. */
const peerKey: unique symbol = Symbol("peer");

/** The other end of the connection. An IPv4 address that is written as IPv6 is given as IPv4. */
export function peerOf(request: Pick<NodeServerRequest, "socket">): Peer {
  const socket: Socket & { [peerKey]?: Peer } = request.socket;
  socket[peerKey] ??= readPeer(socket);
  return socket[peerKey];
}

function readPeer(socket: Socket): Peer {
  const address = socket.remoteAddress ?? "";
  return Object.freeze({
    address: address.startsWith("::ffff:") ? address.slice(7) : address,
    encrypted: "encrypted" in socket && socket.encrypted === true,
    ...(socket.remotePort !== undefined && { port: socket.remotePort }),
  });
}
