import { isIP, type Socket, connect as tcp } from "node:net";
import { connect as tls } from "node:tls";

/** How an HTTP/2 connection is made. */
export interface Reaching {
  /** How long it may take until the server has said something, in milliseconds. */
  readonly timeoutMs: number;
  /** What `node:tls` is told. */
  readonly secure: Readonly<Record<string, unknown>>;
}

/**
 * The socket of an HTTP/2 connection, which fails as one that was never there when its server has said nothing in time: neither taken
 * the connection, nor agreed on TLS, nor sent the SETTINGS that are to come before anything else (RFC 9113, 3.4).
 */
export function reach(origin: URL, { timeoutMs, secure }: Reaching): Socket {
  const { protocol, hostname, port } = origin;
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const to = { host, port: Number(port || (protocol === "https:" ? 443 : 80)), autoSelectFamily: true };
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const socket = protocol === "https:" ? tls({ ...secure, ...to, ...servername, ALPNProtocols: ["h2"] }) : tcp(to);
  const timer = setTimeout(() => {
    if (socket.bytesRead === 0 || socket.connecting) socket.destroy(unreached());
  }, timeoutMs).unref();
  socket.once("close", () => clearTimeout(timer));
  return socket;
}

function unreached(): Error {
  return Object.assign(new Error("no connection in time"), { code: "ETIMEDOUT", syscall: "connect" });
}
