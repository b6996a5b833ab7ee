/**
 * Returns true if `If-None-Match` names this tag. The comparison is weak: `W/` makes no difference (RFC 9110, 13.1.2).
 */
export function namesTag(ifNoneMatch: string, etag: string): boolean {
  const own = etag.replace(/^W\//, "");
  return ifNoneMatch.trim() === "*" || ifNoneMatch.match(/"[^"]*"/g)?.some((tag) => tag === own) === true;
}
