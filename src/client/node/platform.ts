import { isIP, type Socket, connect as tcp } from "node:net";
import { TLSSocket, connect as tls } from "node:tls";
import buildConnector from "undici/lib/core/connect.js";
import { A2AError } from "../../core/error.js";
import { isLoopback } from "../hosts.js";
import { defaultClientLimits } from "../limits.js";
import type { ClientTls, Platform, PlatformOptions } from "../platform.js";
import { connectTransport } from "../transport/connect.js";
import { grpcTransport, grpcWebTransport } from "../transport/grpc.js";
import { Connections } from "./connections.js";
import { undiciClient } from "./http.js";
import { http2Client } from "./http2.js";
import { Sessions } from "./sessions.js";

/** How long one address of several is tried before the next one, in milliseconds. */
const ATTEMPT_MS = 1_000;

/** A connection that nothing is sent on is closed after so long, in milliseconds, which is less than most servers wait. */
const IDLE_MS = 4_000;

/** The headers of one answer, in bytes. */
const MAX_HEADERS = 64 * 1024;

/** What Node.js is: connections of undici for all that is HTTP/1.1, one connection of HTTP/2 to each server of gRPC. */
export function nodePlatform({ tls = {}, plaintextGrpc, limits }: PlatformOptions = {}): Platform {
  const { connectTimeoutMs = defaultClientLimits.connectTimeoutMs } = limits ?? {};
  const secure = tlsOf(tls);
  const connections = new Connections({
    connect: buildConnector({
      ...secure,
      timeout: connectTimeoutMs,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
      allowH2: false,
    }),
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    maxHeaderSize: MAX_HEADERS,
    // The caller's deadline is the limit: an agent may take its time, and a stream may be silent.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const http = undiciClient(connections);
  const sessions = new Sessions((origin) => reach(origin, { timeoutMs: connectTimeoutMs, secure }));
  const http2 = http2Client(sessions);
  return {
    http,
    connect: (settings) => connectTransport(settings, http),
    grpcWeb: (settings) => grpcWebTransport(settings, http),
    grpc: (settings) => grpcTransport({ ...settings, url: grpcUrl(settings.url, plaintextGrpc) }, http2),
    close: async () => {
      sessions.close();
      await connections.close();
    },
  };
}

/** What `node:tls` is told. Certificates are always verified, whatever the environment says. */
function tlsOf({ ca, cert, key }: ClientTls): Record<string, unknown> {
  const given = Object.entries({ ca, cert, key }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), minVersion: "TLSv1.2", rejectUnauthorized: true };
}

/** TCP asks after so long a silence whether the other machine is there, in milliseconds. */
const KEEP_ALIVE_MS = 30_000;

/** How an HTTP/2 connection is made. */
interface Reaching {
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

/**
 * The URL for an address of gRPC as cards have it: `host:port`, `dns:///host:port`, or a URL of HTTP (specification 8.5). What has no
 * scheme is called with TLS, unless it is this machine or `plaintext` says otherwise.
 *
 * @throws A2AError with reason INVALID_REQUEST for any other.
 */
export function grpcUrl(address: string, plaintext?: boolean): string {
  const named = /^(https?|grpcs?):\/\/(.+)$/i.exec(address);
  const [, scheme, rest = address.replace(/^dns:(?:\/\/[^/]*\/)?/i, "")] = named ?? [];
  const isPlain = scheme === undefined ? (plaintext ?? isLoopback(`http://${rest}`)) : /^(?:http|grpc)$/i.test(scheme);
  const text = `${isPlain ? "http" : "https"}://${rest}`;
  if (!URL.canParse(text) || /^[a-z][a-z0-9+.-]*:\//i.test(rest)) {
    throw new A2AError("INVALID_REQUEST", `${address.slice(0, 200)} is no address of gRPC that is known here.`);
  }
  const { origin, pathname, search } = new URL(text);
  return origin + (pathname === "/" ? "" : pathname) + search;
}
