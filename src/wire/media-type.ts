/** Media type of JSON-RPC (specification 9.1). */
export const JSON_TYPE = "application/json";

/** Media type of the protocol's JSON (specification 11.1, 14.1). */
export const A2A_JSON_TYPE = "application/a2a+json";

// RFC 9110, sections 5.6.2 and 8.3.1. A wildcard is made of the same characters, so `image/*` passes.
const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

/** A parameter: its name, then its value in quotes or as it is (RFC 9110, 5.6.6). */
const parameterPattern = /;\s*([^\s;="]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/g;

/** True for a media type with its parameters, such as `text/plain; charset=utf-8`. */
export function isMediaType(text: string): boolean {
  // Not a constant: bundles for browsers would have it, and cards are rarely checked.
  const mediaType = new RegExp(`^${token}/${token}(?:[ \\t]*;[ \\t]*${token}=(?:${token}|"(?:[^"\\\\]|\\\\.)*"))*$`);
  return mediaType.test(text);
}

/** Returns type and subtype in lower case, without parameters. */
export function essenceOf(text: string): string {
  return (text.split(";", 1)[0] ?? "").trim().toLowerCase();
}

/** True if a text, with any parameters, has this type and subtype. @param essence in lower case */
export function hasMediaType(text: string, essence: string): boolean {
  return text === essence || essenceOf(text) === essence;
}

/** True for JSON, or the protocol's JSON, in UTF-8, with any other parameters. */
export function isJsonType(text: string): boolean {
  if (text === JSON_TYPE || text === A2A_JSON_TYPE) return true;
  const essence = essenceOf(text);
  return (
    (essence === JSON_TYPE || essence === A2A_JSON_TYPE) && /^utf-?8$/i.test(parameterOf(text, "charset") ?? "utf-8")
  );
}

/** Returns the value of a parameter, or undefined. @param name in lower case */
export function parameterOf(text: string, name: string): string | undefined {
  if (!text.includes(";")) return undefined;
  // Not `matchAll`, which copies the expression for each text.
  parameterPattern.lastIndex = 0;
  for (let match = parameterPattern.exec(text); match !== null; match = parameterPattern.exec(text)) {
    const [, found = "", quoted, plain = ""] = match;
    if (found.toLowerCase() === name) return quoted ?? plain;
  }
  return undefined;
}

// The types of gRPC and Connect are read for each call, so one expression each decides without a copy of the text.

/** A header's value. A missing header matches no protocol. */
type TypeHeader = string | null | undefined;

/** True for gRPC or gRPC-Web, with messages in any format. */
export function isGrpcType(type: TypeHeader): boolean {
  return /^application\/grpc(?:$|[-+;])/i.test(type ?? "");
}

/** True for gRPC-Web, in binary or in text. */
export function isGrpcWebType(type: TypeHeader): boolean {
  return /^application\/grpc-web/i.test(type ?? "");
}

/** True for gRPC, but not gRPC-Web, with protobuf messages. */
export function isGrpcProtoType(type: TypeHeader): boolean {
  return /^application\/grpc(?:\+proto)?(?:$|[; ])/i.test(type ?? "");
}

/** True for a stream of the Connect protocol. */
export function isConnectStreamType(type: TypeHeader): boolean {
  return /^application\/connect\+/i.test(type ?? "");
}

/** True for a unary call of the Connect protocol, in JSON with UTF-8 or in protobuf. */
export function isConnectUnaryType(type: TypeHeader): boolean {
  return /^application\/(?:json(?:; ?charset=utf-?8)?|proto)$/i.test(type ?? "");
}

/** True if each message has a prefix with its length: gRPC, gRPC-Web and streams of Connect. */
export function isEnvelopedType(type: TypeHeader): boolean {
  return /^application\/(?:grpc|connect\+)/i.test(type ?? "");
}

/** True if messages are JSON in any of these protocols. */
export function hasJsonMessages(type: TypeHeader): boolean {
  return /^application\/[a-z+-]*json/i.test(type ?? "");
}
