import type { Socket } from "node:net";
import type { Peer } from "../../core/call.js";
import type { NodeServerRequest } from "./types.js";

/** Where a connection keeps its other end: it is asked for with every call, and Node asks the system. */
const peerKey: unique symbol = Symbol("peer");

/** The other end of the connection. An IPv4 address in IPv6 dress is given as IPv4. */
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
