import buildConnector from "undici/lib/core/connect.js";
import { defaultClientLimits } from "../limits.js";
import type { ClientTls, Platform, PlatformOptions } from "../platform.js";
import { connectTransport } from "../transport/connect.js";
import { grpcTransport, grpcWebTransport } from "../transport/grpc.js";
import { Connections } from "./connections.js";
import { grpcUrl } from "./grpc-url.js";
import { undiciClient } from "./http.js";
import { http2Client } from "./http2.js";
import { reach } from "./reaching.js";
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
