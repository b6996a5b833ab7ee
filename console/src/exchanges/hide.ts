import { secretHeaders } from "../api/relay.js";

/** Shown in place of a secret. */
export const HIDDEN = "••••••";

/** Shortest secret that is looked for in texts; shorter ones are everywhere. */
const MIN_LENGTH = 4;

/** Members of JSON, and fields of forms, whose values are secrets. */
const secretMembers =
  "token|credentials|password|secret|client_?secret|access_?token|refresh_?token|id_?token|api_?key";
const jsonMember = new RegExp(`("(${secretMembers})"\\s*:\\s*)"((?:[^"\\\\]|\\\\.)*)"`, "gi");

/** Returns a text without the given secrets and without the values of members that hold secrets. */
export function withoutSecretTexts(text: string, secrets: readonly string[]): string {
  return shownPieces(bodyPieces(text, secrets), false);
}

/** Returns a body in pieces: the values of members that hold secrets are secret. */
export function bodyPieces(text: string, secrets: readonly string[]): Piecewise {
  const pieces: (string | { secret: string; variable: string })[] = [];
  let end = 0;
  for (const { 0: whole, 1: before = "", 2: name = "", 3: value = "", index } of text.matchAll(jsonMember)) {
    pieces.push(
      withoutKnown(text.slice(end, index), secrets),
      `${before}"`,
      { secret: value, variable: variableOf(name) },
      '"',
    );
    end = index + whole.length;
  }
  return [...pieces, withoutKnown(text.slice(end), secrets)];
}

/** Returns a text without the given secrets. @param shown stands for them */
export function withoutKnown(text: string, secrets: readonly string[], shown: string = HIDDEN): string {
  const forms = secrets
    .filter(({ length }) => length >= MIN_LENGTH)
    .flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  // The longest first, because one may contain another.
  return [...new Set(forms)]
    .toSorted((one, other) => other.length - one.length)
    .reduce((hidden, form) => hidden.replaceAll(form, shown), text);
}

/** A value in pieces: texts, and secrets with the names of the variables that stand for them. */
export type Piecewise = readonly (string | { readonly secret: string; readonly variable: string })[];

/** Returns the value of a header in pieces. */
export function headerPieces(name: string, value: string, secrets: readonly string[]): Piecewise {
  const variable = variableOf(name);
  if (secretHeaders.test(name)) {
    const [, scheme = "", rest = value] = /^([A-Za-z-]+ +)(\S+)$/.exec(value) ?? [];
    return [scheme, { secret: rest, variable: scheme === "" ? variable : variableOf(scheme.trim()) }];
  }
  const isKnown = secrets.some((secret) => secret.length >= MIN_LENGTH && value.includes(secret));
  return isKnown ? [{ secret: value, variable }] : [value];
}

/** Returns a URL in pieces: secrets may be in its query. */
export function urlPieces(url: string, secrets: readonly string[]): Piecewise {
  const at = url.indexOf("?");
  if (at === -1) return [url];
  const pieces: (string | { secret: string; variable: string })[] = [url.slice(0, at)];
  for (const [index, pair] of url
    .slice(at + 1)
    .split("&")
    .entries()) {
    const [name = "", value = ""] = pair.split("=", 2);
    pieces.push(index === 0 ? "?" : "&");
    const isSecret = secretHeaders.test(name) || secrets.some((each) => encodeURIComponent(each) === value);
    if (isSecret && value !== "") pieces.push(`${name}=`, { secret: value, variable: variableOf(name) });
    else pieces.push(pair);
  }
  return pieces;
}

/** Returns the text of pieces with or without their secrets. */
export const shownPieces = (pieces: Piecewise, isRevealed: boolean): string =>
  pieces.map((piece) => (typeof piece === "string" ? piece : isRevealed ? piece.secret : HIDDEN)).join("");

const variableOf = (name: string): string => {
  const known: Record<string, string> = { bearer: "TOKEN", basic: "BASIC", authorization: "AUTHORIZATION" };
  return known[name.toLowerCase()] ?? name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");
};
