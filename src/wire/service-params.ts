/** Names of the service parameters (specification 3.2.6): HTTP headers and gRPC metadata, in lower case. */
export const VERSION_PARAMETER = "a2a-version";
export const EXTENSIONS_PARAMETER = "a2a-extensions";

/** What an empty value means (specification 3.6.2). */
export const EMPTY_VERSION = "0.3";

const versionForm = /^(\d{1,4}\.\d{1,4})(?:\.\d{1,9})?$/;

/**
 * The version that a value asks for, as `Major.Minor`: a patch number does not count (specification 3.6), an empty
 * value is 0.3 (3.6.2). Undefined for what is no version.
 */
export function parseVersion(value: string): string | undefined {
  const text = value.trim();
  return text === "" ? EMPTY_VERSION : versionForm.exec(text)?.[1];
}

/** The URIs of an `A2A-Extensions` value: a comma-separated list (specification 3.2.6), each URI once. */
export function parseExtensions(value: string): string[] {
  const uris = value.split(",").map((uri) => uri.trim());
  return [...new Set(uris.filter((uri) => uri !== ""))];
}

const versionInQuery = /(?:^|&)a2a-version=([^&]*)/i;

/**
 * The value of the request parameter `A2A-Version`, which may stand in for the header (specification 3.6.1). Names of
 * service parameters are case-insensitive. Undefined when it is absent, which is not the same as empty.
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

/** Header, or gRPC metadata, that carries the key of a send. */
export const IDEMPOTENCY_KEY = "idempotency-key";

/** Names of the service parameters of exact resume. */
export const resumeParameters = {
  after: "parley-after-generation",
  wait: "parley-wait",
  expected: "parley-if-generation",
} as const;

/** Header, or metadata of gRPC: how many agents have handed the work on before it came here. */
export const DELEGATION_DEPTH = "parley-delegation-depth";

/** The most that it says: what claims more is as deep. */
const MOST = 1_000;

/** How deep a call is; 0 where it does not say. What is no number is the deepest: it comes from nobody who counts. */
export function delegationDepthOf(header: string | undefined): number {
  if (header === undefined) return 0;
  return /^\d{1,3}$/.test(header.trim()) ? Number(header) : MOST;
}

/** The longest that a timer of Node can wait, in milliseconds: some 24 days. What is longer is as good as none. */
export const MAX_TIMEOUT_MS: number = 2 ** 31 - 1;

const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** `grpc-timeout` in milliseconds (PROTOCOL-HTTP2, "Timeout"); undefined where it is malformed. */
export function grpcTimeoutMs(value: string): number | undefined {
  const [, amount, unit = ""] = /^(\d{1,8})([HMSmun])$/.exec(value) ?? [];
  return amount === undefined ? undefined : Number(amount) * (units[unit] ?? 1);
}

/** `connect-timeout-ms` (the Connect protocol, "Timeout"); undefined where it is malformed. */
export function connectTimeoutMs(value: string): number | undefined {
  return /^\d{1,10}$/.test(value) ? Number(value) : undefined;
}
