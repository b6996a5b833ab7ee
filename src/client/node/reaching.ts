import { isIP, type Socket, connect as tcp } from "node:net";
import { TLSSocket, connect as tls } from "node:tls";

/** TCP asks after so long a silence whether the other machine is there, in milliseconds. */
const KEEP_ALIVE_MS = 30_000;

/** How an HTTP/2 connection is made. */
export interface Reaching {
  /** How long it may take until the server has said something, in milliseconds. */
  readonly timeoutMs: number;
  /** What `node:tls` is told. */
  readonly secure: Readonly<Record<string, unknown>>;
}

/**
 * The socket of an HTTP/2 connection, which fails when its server has said nothing in time: as one that was never there where it has not taken
 * the connection, or not agreed on TLS; as one that was cut where it has not sent the SETTINGS that are to come first (RFC 9113, 3.4).
 */
export function reach(origin: URL, { timeoutMs, secure }: Reaching): Socket {
  const { protocol, hostname, port } = origin;
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const to = { host, port: Number(port || (protocol === "https:" ? 443 : 80)), autoSelectFamily: true };
  const servername = isIP(host) === 0 ? { servername: host } : {};
  const socket = protocol === "https:" ? tls({ ...secure, ...to, ...servername, ALPNProtocols: ["h2"] }) : tcp(to);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  const timer = setTimeout(() => {
    if (socket.connecting || isAgreeing(socket)) socket.destroy(unreached());
    else if (socket.bytesRead === 0) socket.destroy(silent());
  }, timeoutMs).unref();
  socket.once("close", () => clearTimeout(timer));
  return socket;
}

/** Whether TLS is not agreed on: nothing of a request was sent. */
function isAgreeing(socket: Socket): boolean {
  return socket instanceof TLSSocket && socket.getCipher()?.name === undefined;
}

/** The first requests may have been written, to a server that never read them or does so later. */
function silent(): Error {
  return Object.assign(new Error("no answer in time"), { code: "ECONNRESET" });
}

function unreached(): Error {
  return Object.assign(new Error("no connection in time"), { code: "ETIMEDOUT", syscall: "connect" });
}
