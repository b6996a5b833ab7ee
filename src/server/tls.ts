import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { messageIn } from "../core/members.js";
import type { TlsFiles } from "../http/node/tls.js";

/**
 * Returns the faults of a server's key and certificate, as sentences that begin with `tls`. A key of another
 * certificate is reported here, because every handshake would fail silently.
 */
export function tlsFaults(given: unknown): string[] {
  const { key, cert, ca } = (given ?? {}) as Partial<TlsFiles>;
  if (!key || !cert) return ["tls needs both key and cert"];
  const [keyText, certText] = [String(key), String(cert)];
  if (isKey(certText) && !isCertificate(certText) && isCertificate(keyText) && !isKey(keyText)) {
    return ["tls: key and cert are swapped: the certificate is in place of the key"];
  }
  if (!isCertificate(certText)) return ["tls: cert is not a certificate in PEM"];
  if (isCut(certText)) return ["tls: cert ends in the middle of a certificate"];
  if (!isKey(keyText)) return ["tls: key is not a private key in PEM"];
  try {
    const certificate = new X509Certificate(certText);
    if (!certificate.checkPrivateKey(privateKey(keyText))) return [otherKey(certText, keyText, certificate)];
    createSecureContext({ key, cert });
    return ca === undefined ? [] : authorityFaults(String(ca));
  } catch (error) {
    return [`tls: key and cert cannot be used (${messageIn(error)})`];
  }
}

/** True for a file that is still being written, which OpenSSL would read as one with fewer certificates. */
function isCut(pem: string): boolean {
  return pem.split("-----BEGIN CERTIFICATE-----").length !== pem.split("-----END CERTIFICATE-----").length;
}

/** Returns the faults of authorities. Node.js ignores invalid ones and would refuse every client without an error. */
export function authorityFaults(ca: string): string[] {
  const all = certificatesIn(ca);
  if (all.length === 0) return ["tls: ca has no certificate in PEM"];
  if (isCut(ca)) return ["tls: ca ends in the middle of a certificate"];
  for (const pem of all) new X509Certificate(pem);
  return [];
}

/**
 * Returns warnings about a certificate that is not valid now, or expires within two weeks or within a third of its
 * lifetime, whichever is shorter.
 */
export function tlsWarnings({ cert }: TlsFiles, now: number = Date.now()): string[] {
  const { validFromDate, validToDate, subject } = datesOf(new X509Certificate(String(cert)));
  if (now > validToDate)
    return [`the TLS certificate of ${subject} expired on ${day(validToDate)}: most clients refuse it`];
  if (now < validFromDate) {
    return [`the TLS certificate of ${subject} is not valid before ${day(validFromDate)}: most clients refuse it`];
  }
  const soonMs = Math.min(14 * DAY_MS, (validToDate - validFromDate) / 3);
  if (validToDate - now < soonMs) {
    return [`the TLS certificate of ${subject} ends on ${day(validToDate)}: most clients refuse it then`];
  }
  return [];
}

const isKey = (pem: string): boolean => /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/.test(pem);
const isCertificate = (pem: string): boolean => /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/.test(pem);

/** Reads the key from a text that may contain more, such as the certificate or the parameters of a curve. */
function privateKey(text: string): KeyObject {
  const [pem = ""] = /-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]*?-----END \1-----/.exec(text) ?? [];
  if (/ENCRYPTED/.test(pem)) throw new Error("the key is protected by a passphrase; write it without one");
  return createPrivateKey(pem);
}

const certificatesIn = (pem: string): readonly string[] =>
  pem.match(/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----[\s\S]*?-----END [A-Z0-9 ]*CERTIFICATE-----/g) ?? [];

/** Returns the fault of a key that does not match the first certificate, which may only be in the wrong order. */
function otherKey(chain: string, key: string, first: X509Certificate): string {
  const all = certificatesIn(chain);
  const fits = all.findIndex((pem) => new X509Certificate(pem).checkPrivateKey(privateKey(key)));
  const { subject } = datesOf(first);
  if (fits > 0)
    return `tls: the key belongs to certificate ${fits + 1} of the file: the server's own must be the first`;
  return `tls: the key does not belong to the certificate (of ${subject})`;
}

function datesOf(certificate: X509Certificate): { validFromDate: number; validToDate: number; subject: string } {
  const { validFrom, validTo, subject } = certificate;
  const name = /(?:^|\n)CN=([^\n]+)/.exec(subject ?? "")?.[1] ?? (subject ?? "").replaceAll("\n", ", ");
  return { validFromDate: Date.parse(validFrom), validToDate: Date.parse(validTo), subject: name || "no name" };
}

const DAY_MS = 24 * 3_600_000;

const day = (time: number): string => new Date(time).toISOString().slice(0, 10);
