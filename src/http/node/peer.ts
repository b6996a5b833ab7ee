import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { ClientCertificate, Peer } from "../../core/call.js";
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
    ...("authorized" in socket && socket.authorized === true && certificateOf(socket as TLSSocket)),
  });
}

/** The certificate of a client whose chain TLS has verified. */
function certificateOf(socket: TLSSocket): { certificate: ClientCertificate } | undefined {
  const { subject, subjectaltname = "", fingerprint256 } = socket.getPeerCertificate();
  if (fingerprint256 === undefined) return undefined;
  const parts = Object.entries(subject ?? {}).flatMap(([name, value]) =>
    [value ?? ""].flat().map((each) => `${name}=${each.replace(/[\\,]/g, "\\$&")}`),
  );
  // A name with a comma in it is quoted there.
  const names = subjectaltname.match(/(?:[^,"]|"(?:[^"\\]|\\.)*")+/g) ?? [];
  const certificate = {
    subject: parts.join(","),
    names: Object.freeze(names.map((name) => name.trim())),
    fingerprint: fingerprint256,
  };
  return { certificate: Object.freeze(certificate) };
}
