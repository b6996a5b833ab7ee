import { A2AError, invalid } from "../core/error.js";

/** A segment of a path: a literal text, or a variable named after a field of the proto. */
type Segment = { readonly literal: string } | { readonly variable: string };

/** A path of `google.api.http`: `/{tenant}/tasks/{id=*}:cancel`. */
export interface PathTemplate {
  readonly segments: readonly Segment[];
  /** The text after the final colon, or empty. */
  readonly customVerb: string;
}

const segmentPattern = /^(?:\{(?<variable>[a-z][a-z0-9_]*)(?:=\*)?\}|(?<literal>[A-Za-z0-9._~-]+))$/;
const customVerbPattern = /^(.*[^:]):([A-Za-z0-9._~-]+)$/;

/**
 * Parses a template. Variables cover one segment (`{id}` and `{id=*}`); the contract uses no others.
 *
 * @throws A2AError with reason INTERNAL for any other template, which this parser does not support
 */
export function parsePathTemplate(text: string): PathTemplate {
  const [, path = text, customVerb = ""] = customVerbPattern.exec(text) ?? [];
  const [root, ...parts] = path.split("/");
  const segments = parts.map((part): Segment => {
    const { variable, literal } = segmentPattern.exec(part)?.groups ?? {};
    if (variable !== undefined) return { variable };
    if (literal !== undefined) return { literal };
    throw unsupportedTemplate(text);
  });
  if (root !== "" || segments.length === 0) throw unsupportedTemplate(text);
  return { segments, customVerb };
}

function unsupportedTemplate(text: string): A2AError {
  return new A2AError("INTERNAL", "Internal error.", { cause: new TypeError(`unsupported path template: ${text}`) });
}

/**
 * Returns the path for given values, by the names of the variables. A colon in a value is percent-encoded, so that it
 * never starts a custom verb.
 *
 * @throws A2AError with reason INVALID_PARAMS for a value that is missing, empty, or not well-formed Unicode
 */
export function expandPath(template: PathTemplate, values: Readonly<Record<string, string>>): string {
  let path = "";
  for (const segment of template.segments)
    path += `/${"literal" in segment ? segment.literal : encode(segment.variable, values)}`;
  return template.customVerb === "" ? path : `${path}:${template.customVerb}`;
}

function encode(variable: string, values: Readonly<Record<string, string>>): string {
  const value = values[variable] ?? "";
  if (value === "") throw invalid([{ field: variable, description: "must not be empty" }]);
  try {
    return encodeURIComponent(value);
  } catch {
    throw invalid([{ field: variable, description: "must be a string of Unicode characters" }]);
  }
}

/** Decodes a segment of a URL. Undefined if it is not percent-encoded UTF-8 (RFC 3986, section 2.1). */
export function decodeSegment(raw: string): string | undefined {
  if (!raw.includes("%")) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    return undefined;
  }
}
