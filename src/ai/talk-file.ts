import type { PlainFile } from "../task/plain.js";
import { essenceOf } from "../wire/media-type.js";

/** A file of a kind that models take. */
export interface TalkFile {
  readonly kind: "image" | "pdf" | "audio" | "video";
  /** Type and subtype, without parameters. */
  readonly mediaType: string;
  readonly name: string | undefined;
  /** The bytes, or an HTTP URL. */
  readonly content: Uint8Array | string;
}

/** Media types by the extension of the file's name, for files without a media type. */
const byExtension: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
  mp3: "audio/mpeg",
  wav: "audio/wav",
  mp4: "video/mp4",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  json: "application/json",
  svg: "image/svg+xml",
};

const kinds = [
  ["image", /^image\/(?:png|jpeg|gif|webp)$/],
  ["pdf", /^application\/pdf$/],
  ["audio", /^audio\//],
  ["video", /^video\//],
] as const;

const textTypes =
  /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|toml|sql|javascript|x-ndjson)|.+\+(?:json|xml|yaml))$/;

/**
 * Converts a file: to a text if it is one, to a file that models take, or to a text that mentions it.
 *
 * @param isTaken false mentions it, unless it is a text
 */
export function fileOf(file: PlainFile, isTaken: boolean): { readonly text: string } | { readonly file: TalkFile } {
  const mediaType = mediaTypeOf(file);
  const { bytes, url, name } = file;
  if (bytes !== undefined && textTypes.test(mediaType))
    return { text: `${labelOf(file, mediaType)}\n${utf8Text(bytes)}` };
  const content = bytes ?? (url !== undefined && /^https?:\/\//i.test(url) && URL.canParse(url) ? url : undefined);
  const kind = kinds.find(([, pattern]) => pattern.test(mediaType))?.[0];
  if (!isTaken || content === undefined || kind === undefined) return { text: labelOf(file, mediaType) };
  return { file: { kind, mediaType, name: name === "" ? undefined : name, content } };
}

/** Returns the text that mentions a file that a model does not take. */
export function mentionOf({ content, mediaType, name }: TalkFile): string {
  const about = { mediaType, ...(name === undefined ? {} : { name }) };
  return labelOf(typeof content === "string" ? { ...about, url: content } : { ...about, bytes: content });
}

/** Returns the text that mentions a file in place of it. */
export function labelOf({ bytes, url, name, mediaType: own }: PlainFile, mediaType: string | undefined = own): string {
  const about = [mediaType, bytes === undefined ? url : `${bytes.length} bytes`].filter((each) => each);
  return `[File ${[...(name ? [JSON.stringify(name)] : []), `(${about.join(", ")})`].join(" ")}]`;
}

function mediaTypeOf({ mediaType, name, url }: PlainFile): string {
  const given = essenceOf(mediaType ?? "");
  if (given !== "" && given !== "application/octet-stream") return given;
  const extension = /\.(\w+)(?:[?#]|$)/.exec(name || url || "")?.[1]?.toLowerCase() ?? "";
  return (Object.hasOwn(byExtension, extension) ? byExtension[extension] : undefined) ?? "application/octet-stream";
}

function utf8Text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
