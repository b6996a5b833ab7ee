import type { SecureContextOptions, TlsOptions } from "node:tls";

/** Key and certificate chain of a TLS server, as PEM. */
export interface TlsFiles {
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
  /**
   * Authorities of client certificates, as PEM. With them the server asks clients for a certificate, on both ports.
   * Agents decide whether to serve clients without a valid one (`mutualTlsScheme`). Default: clients are not asked.
   */
  readonly ca?: string | Buffer;
}

/**
 * Cipher suites with forward secrecy and authenticated encryption. HTTP/2 forbids the others (RFC 9113, appendix A),
 * and TLS 1.3 has no others.
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
 * Returns the TLS options of every port. Agents decide about clients without a certificate or with one of another
 * authority. The versions are explicit, because flags of Node.js could lower them.
 */
export function secureOptions({ key, cert, ca }: TlsFiles): SecureContextOptions & TlsOptions {
  const asking = ca === undefined ? {} : { ca, requestCert: true, rejectUnauthorized: false };
  return { key, cert, minVersion: "TLSv1.2", maxVersion: "TLSv1.3", ciphers, ...asking };
}
