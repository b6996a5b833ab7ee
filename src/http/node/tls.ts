import type { SecureContextOptions, TlsOptions } from "node:tls";

/** Key and certificate chain of a TLS server, as PEM. */
export interface TlsFiles {
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
  /**
   * Authorities of client certificates, as PEM. With them the server asks clients for a certificate, on both ports; clients without
   * one of theirs are still served, as far as agents let them (`mutualTlsScheme`). Default: clients are not asked.
   */
  readonly ca?: string | Buffer;
}

/**
 * Suites with forward secrecy and authenticated encryption alone: what HTTP/2 does not forbid (RFC 9113, appendix A). 1.3 has no
 * others.
 */
const ciphers = [
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "TLS_AES_128_GCM_SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
].join(":");

/**
 * What every TLS port has of the files. Who shows no certificate, or one of another authority, is judged by each agent. The
 * versions are said, as flags of Node.js could lower them.
 */
export function secureOptions({ key, cert, ca }: TlsFiles): SecureContextOptions & TlsOptions {
  const asking = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: false };
  return { key, cert, minVersion: "TLSv1.2", maxVersion: "TLSv1.3", ciphers, ...asking };
}
