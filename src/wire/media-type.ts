/** Media type of JSON-RPC (specification 9.1). */
export const JSON_TYPE = "application/json";

/** Media type of the protocol's JSON (specification 11.1, 14.1). */
export const A2A_JSON_TYPE = "application/a2a+json";

// RFC 9110, sections 5.6.2 and 8.3.1. A wildcard is made of the same characters, so `image/*` passes.
const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const mediaType = new RegExp(`^${token}/${token}(?:[ \\t]*;[ \\t]*${token}=(?:${token}|"(?:[^"\\\\]|\\\\.)*"))*$`);

/** A parameter: its name, then its value in quotes or as it is (RFC 9110, 5.6.6). */
const parameterPattern = /;\s*([^\s;="]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/g;

/** True for a media type with its parameters, such as `text/plain; charset=utf-8`. */
export function isMediaType(text: string): boolean {
  return mediaType.test(text);
}

/** Returns type and subtype in lower case, without parameters. */
export function essenceOf(text: string): string {
  return (text.split(";", 1)[0] ?? "").trim().toLowerCase();
}

/** True for JSON, or the protocol's JSON, in UTF-8, with any other parameters. */
export function isJsonType(text: string): boolean {
  if (text === JSON_TYPE || text === A2A_JSON_TYPE) return true;
  const essence = essenceOf(text);
  return (essence === JSON_TYPE || essence === A2A_JSON_TYPE) && /^utf-?8$/i.test(charsetOf(text));
}

function charsetOf(text: string): string {
  for (const [, name = "", quoted, plain = ""] of text.matchAll(parameterPattern))
    if (name.toLowerCase() === "charset") return quoted ?? plain;
  return "utf-8";
}
