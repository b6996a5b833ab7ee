/**
 * Appends a path to the interface's path, before its query, which may contain credentials.
 *
 * @param path it may have a query of its own, which comes first
 */
export function appendPath(url: string, path: string): string {
  const mark = url.indexOf("?");
  const base = mark < 0 ? url : url.slice(0, mark);
  const root = base.endsWith("/") ? base.replace(/\/+$/, "") : base;
  const query = mark < 0 ? "" : url.slice(mark + 1);
  return query === "" ? root + path : `${root}${path}${path.includes("?") ? "&" : "?"}${query}`;
}
