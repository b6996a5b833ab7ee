import { nodePlatform } from "../../../client/node/platform.js";
import { debugPlatform } from "../debug.js";
import type { Scope } from "../scope.js";
import { tlsOf } from "../tls.js";

/** Largest answer of an issuer, in bytes. */
const MAX_BYTES = 256 * 1024;

/** Time to connect, in milliseconds. */
const CONNECT_MS = 10_000;

/** Connections to issuers. Their bodies have secrets, so reports of `--debug` leave them out. */
export interface IssuerHttp {
  readonly fetch: typeof globalThis.fetch;
  close(): Promise<void>;
}

/** Opens connections with the settings of the run. */
export function issuerHttp(context: Pick<Scope, "settings" | "io" | "out">): IssuerHttp {
  const { settings, out } = context;
  const ca = tlsOf(context)?.ca;
  const plain = nodePlatform({
    verifyTls: !settings.insecure,
    limits: { connectTimeoutMs: CONNECT_MS },
    ...(ca !== undefined && { tls: { ca } }),
  });
  const { http } = settings.debug ? debugPlatform(out, plain, { hasBodies: false }) : plain;
  return {
    fetch: async (url, { method = "GET", headers, body, signal } = {}) => {
      const answer = await http({
        url: String(url),
        method,
        headers: new Headers(headers),
        ...(typeof body === "string" && { body }),
        ...(signal && { signal }),
      });
      const { status, headers: given } = answer;
      const text = await answer.text(MAX_BYTES);
      const isEmpty = [204, 205, 304].includes(status);
      return new Response(isEmpty ? null : text, { status, headers: given });
    },
    close: () => plain.close(),
  };
}
