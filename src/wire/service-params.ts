/** Names of the service parameters (specification 3.2.6): HTTP headers and gRPC metadata, in lower case. */
export const VERSION_PARAMETER = "a2a-version";
export const EXTENSIONS_PARAMETER = "a2a-extensions";

/** Meaning of an empty version value (specification 3.6.2). */
export const EMPTY_VERSION = "0.3";

const versionForm = /^(\d{1,4}\.\d{1,4})(?:\.\d{1,9})?$/;

/**
 * Returns the version in a value, as `Major.Minor`. A patch number is ignored (specification 3.6), and an empty value
 * is 0.3 (3.6.2). Undefined for an invalid version.
 */
export function parseVersion(value: string): string | undefined {
  const text = value.trim();
  return text === "" ? EMPTY_VERSION : versionForm.exec(text)?.[1];
}

/** Returns the URIs of an `A2A-Extensions` value, a comma-separated list (specification 3.2.6), without duplicates. */
export function parseExtensions(value: string): string[] {
  const uris = value.split(",").map((uri) => uri.trim());
  return [...new Set(uris.filter((uri) => uri !== ""))];
}

const versionInQuery = /(?:^|&)a2a-version=([^&]*)/i;

/**
 * Returns the value of the request parameter `A2A-Version`, which may replace the header (specification 3.6.1). Names
 * of service parameters are case-insensitive. Undefined if it is absent, which differs from empty.
 */
export function versionFromQuery(query: string): string | undefined {
  const raw = query === "" ? undefined : versionInQuery.exec(query)?.[1];
  if (raw === undefined || !/[%+]/.test(raw)) return raw;
  try {
    return decodeURIComponent(raw.replaceAll("+", " "));
  } catch {
    return raw;
  }
}

/** URI of the extension for exact resume; `docs/extensions/resume.md` describes it. */
export const RESUME_EXTENSION = "urn:parley:ext:resume:v1";

/** URI of the extension for sends that are safe to repeat; `docs/extensions/idempotency.md` describes it. */
export const IDEMPOTENCY_EXTENSION = "urn:parley:ext:idempotency:v1";

/** URI of the extension for events of other agents' tasks; `docs/extensions/delegation.md` describes it. */
export const DELEGATION_EXTENSION = "urn:parley:ext:delegation:v1";

/** Header or gRPC metadata with the idempotency key of a send. */
export const IDEMPOTENCY_KEY = "idempotency-key";

/** Names of the service parameters of exact resume. */
export const resumeParameters = {
  after: "parley-after-generation",
  wait: "parley-wait",
  expected: "parley-if-generation",
} as const;

/** Header or gRPC metadata with the number of agents that delegated the work before this one. */
export const DELEGATION_DEPTH = "parley-delegation-depth";

/** Maximum depth; larger values count as this one. */
const MOST = 1_000;

/**
 * Returns the delegation depth of a call; 0 without the header. An invalid number counts as the maximum, because no
 * conforming client sends it.
 */
export function delegationDepthOf(header: string | undefined): number {
  if (header === undefined) return 0;
  return /^\d{1,3}$/.test(header.trim()) ? Number(header) : MOST;
}

/** Maximum delay of a timer of Node.js, in milliseconds, about 24 days. A longer timeout counts as no timeout. */
export const MAX_TIMEOUT_MS: number = 2 ** 31 - 1;

const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** Parses `grpc-timeout` to milliseconds (PROTOCOL-HTTP2, "Timeout"); undefined if malformed. */
export function grpcTimeoutMs(value: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? [];
  return amount === undefined ? undefined : Number(amount) * (units[unit] ?? 1);
}

/** Parses `connect-timeout-ms` (the Connect protocol, "Timeout"); undefined if malformed. */
export function connectTimeoutMs(value: string): number | undefined {
  return /^\d{1,10}$/.test(value) ? Number(value) : undefined;
}
