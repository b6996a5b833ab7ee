import { extname } from "node:path";
import { essenceOf } from "../../wire/media-type.js";

/** Media types by extension, for files without a declared type. The first one of a type names files that are saved. */
const mediaTypes: Readonly<Record<string, string>> = {
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".gz": "application/gzip",
  ".html": "text/html",
  ".htm": "text/html",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".json": "application/json",
  ".md": "text/markdown",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".wav": "audio/wav",
  ".webp": "image/webp",
  ".xml": "application/xml",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
  ".zip": "application/zip",
};

/** Returns the media type of a file by its extension; empty if it is unknown. */
export function mediaTypeOf(name: string): string {
  return mediaTypes[extname(name).toLowerCase()] ?? "";
}

/** Returns the extension of files of a media type, with its dot; undefined if it is unknown. */
export function extensionOf(mediaType: string): string | undefined {
  const essence = essenceOf(mediaType);
  return Object.keys(mediaTypes).find((extension) => mediaTypes[extension] === essence);
}
