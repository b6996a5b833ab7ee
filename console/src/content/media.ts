import { essenceOf } from "../../../src/wire/media-type.js";

/** Ways to show a file. */
export type FileKind = "image" | "audio" | "video" | "pdf" | "text" | "other";

/** Media types by the ends of names, where a part names none. */
const byEnding: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  bmp: "image/bmp",
  svg: "image/svg+xml",
  mp3: "audio/mpeg",
  ogg: "audio/ogg",
  wav: "audio/wav",
  flac: "audio/flac",
  m4a: "audio/mp4",
  mp4: "video/mp4",
  webm: "video/webm",
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  json: "application/json",
  html: "text/html",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
};

/** Images that browsers decode. SVG is shown as an image too, in which no script runs. */
const images = /^image\/(?:png|jpeg|gif|webp|avif|bmp|x-icon|svg\+xml)$/;
const texts =
  /^text\/|^application\/(?:json|xml|yaml|x-yaml|toml|javascript|typescript|sql|x-sh)$|\+(?:json|xml|yaml)$/;

/** Returns a media type without its parameters, found by the name's end if the part names none. */
export function mediaTypeOf(mediaType: string, filename: string): string {
  const given = essenceOf(mediaType);
  if (given !== "" && given !== "application/octet-stream") return given;
  return byEnding[endingOf(filename)] ?? given;
}

export function endingOf(filename: string): string {
  return /\.([a-z0-9]{1,12})$/i.exec(filename)?.[1]?.toLowerCase() ?? "";
}

/** Copies of parts in an SVG from which it is shown only after a click: copies of copies grow without bounds. */
const MAX_COPIES = 20;

/** True if drawing a file may take very long. */
export function isHeavy(type: string, bytes: Uint8Array): boolean {
  if (type !== "image/svg+xml") return false;
  const copies = new TextDecoder("latin1").decode(bytes).matchAll(/<!ENTITY|<(?:[\w-]+:)?(?:use|pattern|filter)\b/gi);
  return [...copies].length > MAX_COPIES;
}

/** Returns the way to show a file of a media type, as `mediaTypeOf` returns it. */
export function fileKind(type: string): FileKind {
  if (images.test(type)) return "image";
  if (type.startsWith("audio/")) return "audio";
  if (type.startsWith("video/")) return "video";
  if (type === "application/pdf") return "pdf";
  return texts.test(type) ? "text" : "other";
}

const MAX_NAME = 120;

/**
 * Returns a name under which a file can be stored: without folders, control characters and characters that turn the
 * direction of writing, which hide a name's end.
 */
export function safeName(filename: string, fallback = "file"): string {
  const last = filename.split(/[/\\]/).at(-1) ?? "";
  const clean = last
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}<>:"|?*]/gu, "")
    .replace(/^[.\s]+/, "")
    .replace(/[.\s]+$/, "");
  if (clean === "") return fallback;
  if (clean.length <= MAX_NAME) return clean;
  const ending = endingOf(clean);
  return ending === "" ? clean.slice(0, MAX_NAME) : `${clean.slice(0, MAX_NAME - ending.length - 1)}.${ending}`;
}

/** Returns an address that may become a link: of the web or of mail. Undefined for others. */
export function safeLink(href: string | undefined): string | undefined {
  if (href === undefined || !URL.canParse(href)) return undefined;
  const { protocol } = new URL(href);
  return /^(?:https?|mailto):$/.test(protocol) ? href : undefined;
}

/** The same for addresses that can be fetched. */
export function webAddress(href: string | undefined): URL | undefined {
  const link = safeLink(href);
  if (link === undefined) return undefined;
  const url = new URL(link);
  return url.protocol === "mailto:" ? undefined : url;
}
