import { isIP, type Socket, connect as tcp } from "node:net";
import { TLSSocket, connect as tls } from "node:tls";
import { A2AError } from "../../core/error.js";
import { lazyImport } from "../../core/lazy.js";
import { isLoopback, parseUrl, withoutBrackets } from "../../core/net.js";
import { Closers } from "../../outgoing/closers.js";
import { ConnectionPools } from "../../outgoing/connections.js";
import { connectorOf, tlsOptions } from "../../outgoing/connector.js";
import { chosenApi, type TelemetryOption } from "../../telemetry/choice.js";
import { openTelemetryApi } from "../../telemetry/load.js";
import { defaultClientLimits } from "../limits.js";
import type { HttpClient, Platform, PlatformOptions } from "../platform.js";
import type { ClientSpans } from "../spans.js";
import { connectTransport } from "../transport/connect.js";
import { grpcTransport, grpcWebTransport } from "../transport/grpc.js";
import { undiciClient } from "./http.js";
import { http2Client } from "./http2.js";
import { Sessions } from "./sessions.js";

/** Idle time after which a connection is closed, in milliseconds; shorter than most servers' own. */
const IDLE_MS = 4_000;

/** Maximum size of an answer's headers, in bytes. */
const MAX_HEADERS = 64 * 1024;

/** Options of the platform of Node.js. */
interface NodeOptions extends PlatformOptions {
  /** False to accept any certificate, for the command line only. Default true. */
  readonly verifyTls?: boolean;
  /** Wraps the HTTP clients, for the command line only. */
  readonly tap?: (http: HttpClient) => HttpClient;
}

/** The platform of Node.js: undici connections for HTTP/1.1, and HTTP/2 connections for gRPC. */
export function nodePlatform(given: NodeOptions = {}): Platform {
  const { tls = {}, plaintextGrpc, limits, verifyTls = true, tap = (client) => client } = given;
  const { connectTimeoutMs = defaultClientLimits.connectTimeoutMs } = limits ?? {};
  const secure = tlsOptions(tls, verifyTls);
  const connections = new ConnectionPools({
    connect: connectorOf({ ...secure, timeout: connectTimeoutMs }),
    idleMs: IDLE_MS,
    maxHeaderSize: MAX_HEADERS,
    closers: new Closers(),
  });
  const http = tap(undiciClient(connections));
  const sessions = new Sessions((origin) => reach(origin, { timeoutMs: connectTimeoutMs, secure }));
  const http2 = tap(http2Client(sessions));
  return {
    http,
    connect: (settings) => connectTransport(settings, http),
    grpcWeb: (settings) => grpcWebTransport(settings, http),
    grpc: (settings) => grpcTransport({ ...settings, url: grpcUrl(settings.url, plaintextGrpc) }, http2),
    spans: spansOf,
    close: async () => {
      sessions.close();
      await connections.close();
    },
  };
}

const theSpans = lazyImport(() => import("../spans.js"));

async function spansOf(telemetry: TelemetryOption | undefined): Promise<ClientSpans | undefined> {
  const api = await chosenApi(telemetry, openTelemetryApi).catch((error: unknown) => {
    // An SDK is registered, but its API cannot be imported from here.
    if (telemetry === undefined) return undefined;
    throw error;
  });
  return api && (await theSpans()).clientSpans(api);
}

/** Silence after which TCP probes the peer, in milliseconds. */
const KEEP_ALIVE_MS = 30_000;

/** Options of an HTTP/2 connection. */
interface Reaching {
  /** Time until the server's first bytes, in milliseconds. */
  readonly timeoutMs: number;
  /** Options for `node:tls`. */
  readonly secure: Readonly<Record<string, unknown>>;
}

/**
 * Opens the socket of an HTTP/2 connection. It fails if the server sends nothing in time: as never connected if TCP or
 * TLS was not established; as interrupted if the server has not sent the initial SETTINGS (RFC 9113, 3.4).
 */
export function reach(origin: URL, { timeoutMs, secure }: Reaching): Socket {
  const { protocol, hostname, port } = origin;
  const host = withoutBrackets(hostname);
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

/** True before TLS is established, when no part of a request was sent. */
function isAgreeing(socket: Socket): boolean {
  return socket instanceof TLSSocket && socket.getCipher()?.name === undefined;
}

/** The first requests may have been written, and the server may still read them. */
function silent(): Error {
  return Object.assign(new Error("no answer in time"), { code: "ECONNRESET" });
}

function unreached(): Error {
  return Object.assign(new Error("no connection in time"), { code: "ETIMEDOUT", syscall: "connect" });
}

/**
 * Returns the URL of a gRPC address from a card: `host:port`, `dns:///host:port`, or an HTTP URL (specification 8.5).
 * Without a scheme it uses TLS, except on this machine or if `plaintext` says otherwise.
 *
 * @throws A2AError INVALID_REQUEST for any other address
 */
export function grpcUrl(address: string, plaintext?: boolean): string {
  const named = /^(https?|grpcs?):\/\/(.+)$/i.exec(address);
  const [, scheme, rest = address.replace(/^dns:(?:\/\/[^/]*\/)?/i, "")] = named ?? [];
  const isPlain = scheme === undefined ? (plaintext ?? isLoopback(`http://${rest}`)) : /^(?:http|grpc)$/i.test(scheme);
  const text = `${isPlain ? "http" : "https"}://${rest}`;
  const parsed = parseUrl(text);
  if (parsed === undefined || /^[a-z][a-z0-9+.-]*:\//i.test(rest)) {
    throw new A2AError("INVALID_REQUEST", `${address.slice(0, 200)} is not a known form of a gRPC address.`);
  }
  const { origin, pathname, search } = parsed;
  return origin + (pathname === "/" ? "" : pathname) + search;
}
