/**
 * Returns true if a `Content-Type` names this media type, in any case and with any parameters. It is smaller in a browser
 * than the readers of `http/` and `wire/`.
 */
export function isMediaType(contentType: string, type: string): boolean {
  return contentType === type || contentType.split(";", 1)[0]?.trim().toLowerCase() === type;
}
