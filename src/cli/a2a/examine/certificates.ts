import { isIP, type NetConnectOpts } from "node:net";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import type { ClientTls } from "../../../client/platform.js";
import { pause } from "../../../core/async.js";
import { messageIn } from "../../../core/members.js";
import { parseUrl, withoutBrackets } from "../../../core/net.js";
import type { Finding, Rule } from "../../../examine/check.js";

/** Time for a TLS handshake, in milliseconds. */
const HANDSHAKE_MS = 10_000;

/** Days before its end in which a certificate should be renewed. */
const RENEWAL_DAYS = 14;

const DAY_MS = 86_400_000;

export interface Handshake {
  /** Reason why the certificate is not trusted. */
  readonly distrust: string | undefined;
  readonly protocol: string | null;
  readonly validTo: Date | undefined;
}

export const trustRule: Rule = {
  name: "certificate",
  section: "7.2",
  requirement: "the certificate is valid for the host, and issued by a trusted authority",
  mend: "install a certificate of this host with its chain; a private authority is given by --ca",
};

const renewalRule: Rule = {
  name: "renewal",
  isAdvice: true,
  section: "7.2",
  requirement: `the certificate is valid for ${RENEWAL_DAYS} more days`,
  mend: "renew the certificate, best by a program",
};

const versionRule: Rule = {
  name: "tls-version",
  isAdvice: true,
  section: "7.1",
  requirement: "TLS 1.3 is spoken",
  mend: "enable TLS 1.3 at the server or proxy",
};

/** Returns the origins of URLs that use TLS, each once. */
export function secureOrigins(urls: readonly string[]): readonly string[] {
  const secure = urls.map((url) => parseUrl(url)).filter((url) => url?.protocol === "https:");
  return [...new Set(secure.map((url) => url?.origin ?? ""))];
}

/** Judges a handshake by each rule. */
export function judged(handshake: Handshake, now: number): readonly (readonly [Rule, Finding])[] {
  const { distrust, validTo, protocol } = handshake;
  const days = validTo === undefined ? undefined : Math.floor((validTo.getTime() - now) / DAY_MS);
  const late = days !== undefined && days >= 0 && days < RENEWAL_DAYS;
  return [
    [trustRule, distrust === undefined ? undefined : { fault: distrust }],
    [renewalRule, late ? { fault: `it ends in ${days} days` } : undefined],
    [versionRule, protocol === "TLSv1.3" ? undefined : { fault: `the server chose ${protocol}` }],
  ];
}

/** Connects to a server by TLS and accepts any certificate. @throws Error if the handshake fails */
export async function shakeHands(origin: string, tls: ClientTls | undefined, signal: AbortSignal): Promise<Handshake> {
  const { hostname, port } = new URL(origin);
  const host = withoutBrackets(hostname);
  const options: ConnectionOptions & NetConnectOpts = {
    ...(tls as ConnectionOptions | undefined),
    host,
    port: Number(port || 443),
    ...(isIP(host) === 0 && { servername: host }),
    rejectUnauthorized: false,
    autoSelectFamily: true,
  };
  const socket = connect(options);
  try {
    await secured(socket, signal);
    const { valid_to: validTo } = socket.getPeerCertificate();
    const reason: unknown = socket.authorizationError;
    return {
      distrust: socket.authorized ? undefined : describe(reason),
      protocol: socket.getProtocol(),
      validTo: validTo === undefined ? undefined : new Date(validTo),
    };
  } finally {
    socket.destroy();
  }
}

async function secured(socket: TLSSocket, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  await new Promise<void>((resolve, reject) => {
    socket.once("secureConnect", resolve).once("error", reject);
    void pause(HANDSHAKE_MS, stop).then(() => reject(new Error("the TLS handshake did not end in time")));
  }).finally(() => over.abort());
}

/** Words for OpenSSL's codes that users meet. */
const words: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "it has expired",
  CERT_NOT_YET_VALID: "it is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "it is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "its chain ends at an authority that is not trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its authority is not trusted, or its chain is not complete",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its chain is not complete",
  ERR_TLS_CERT_ALTNAME_INVALID: "it is for another host",
};

function describe(reason: unknown): string {
  const code = reason instanceof Error ? ((reason as NodeJS.ErrnoException).code ?? reason.message) : String(reason);
  return words[code] ?? messageIn(reason);
}
