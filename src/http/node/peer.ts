import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { ClientCertificate, Peer } from "../../core/call.js";
import type { NodeServerRequest } from "./types.js";

/** Property of a connection with its peer. Every call needs the address, and Node.js would ask the system each time. */
const peerKey: unique symbol = Symbol("peer");

/** Returns the peer of a connection. An IPv4-mapped IPv6 address is converted to IPv4. */
export function peerOf(request: Pick<NodeServerRequest, "socket">): Peer {
  const socket: Socket & { [peerKey]?: Peer } = request.socket;
  socket[peerKey] ??= readPeer(socket);
  return socket[peerKey];
}

/** The peer of a Unix socket: a process of this machine, without an address of its own. */
const localPeer: Peer = Object.freeze({ address: "127.0.0.1", encrypted: false });

/** Gives a connection through a Unix socket the loopback address, so that a local proxy can be trusted by `loopback`. */
export function markLocal(socket: Socket & { [peerKey]?: Peer }): void {
  socket[peerKey] = localPeer;
}

/** Returns the address of a connection, or an empty text if it has ended. */
export function socketAddress(socket: Socket & { [peerKey]?: Peer }): string {
  return socket[peerKey]?.address ?? socket.remoteAddress ?? "";
}

function readPeer(socket: Socket): Peer {
  const address = socket.remoteAddress ?? "";
  return Object.freeze({
    address: address.startsWith("::ffff:") ? address.slice(7) : address,
    encrypted: "encrypted" in socket && socket.encrypted === true,
    ...(socket.remotePort !== undefined && { port: socket.remotePort }),
    ...("authorized" in socket && socket.authorized === true && certificateOf(socket as TLSSocket)),
  });
}

/** Returns the client's certificate, whose chain TLS has verified. */
function certificateOf(socket: TLSSocket): { certificate: ClientCertificate } | undefined {
  const { subject, subjectaltname = "", fingerprint256 } = socket.getPeerCertificate();
  if (fingerprint256 === undefined) return undefined;
  const parts = Object.entries(subject ?? {}).flatMap(([name, value]) =>
    [value ?? ""].flat().map((each) => `${name}=${each.replace(/[\\,]/g, "\\$&")}`),
  );
  // A name that contains a comma is quoted.
  const names = subjectaltname.match(/(?:[^,"]|"(?:[^"\\]|\\.)*")+/g) ?? [];
  const certificate = {
    subject: parts.join(","),
    names: Object.freeze(names.map((name) => name.trim())),
    fingerprint: fingerprint256,
  };
  return { certificate: Object.freeze(certificate) };
}
