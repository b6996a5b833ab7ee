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
