import type { NodeServerRequest } from "./types.js";

/** Where a framework has mounted the handler, and the rest of the URL below it. */
export interface Mount {
  /** Path that was removed, without a slash at the end. */
  readonly path: string;
  readonly url: string;
}

/** What Express says about the path that it removed, and the parameters in it. */
interface Mounted {
  readonly baseUrl?: unknown;
  readonly params?: Readonly<Record<string, unknown>> | null;
}

/**
 * Express removes the part of the path that its pattern matches, and puts it into `baseUrl`. With a pattern that ends in a
 * wildcard, such as `/agents/*splat`, which is how NestJS mounts middleware, this is the whole path; what the wildcard matched
 * is not part of the mount point and belongs to the URL.
 */
export function mountOf(request: NodeServerRequest): Mount {
  const { baseUrl, params } = request as Mounted;
  const url = request.url ?? "/";
  if (typeof baseUrl !== "string" || baseUrl === "") return { path: "", url };
  const query = url === "/" ? "" : url.startsWith("/?") ? url.slice(1) : undefined;
  const matched = query === undefined ? undefined : wildcardOf(params);
  if (matched === undefined) return { path: baseUrl, url };
  // Express drops a slash at the end, which the wildcard has as an empty piece.
  const hasSlash = matched.at(-1) === "" && !baseUrl.endsWith("/");
  const pieces = baseUrl.split("/");
  const at = pieces.length - matched.length + (hasSlash ? 1 : 0);
  const rest = [...pieces.slice(at), ...(hasSlash ? [""] : [])];
  if (at < 1 || !rest.every((piece, i) => decoded(piece) === matched[i])) return { path: baseUrl, url };
  return { path: pieces.slice(0, at).join("/"), url: `/${rest.join("/")}${query}` };
}

/** Pieces that the one wildcard of a pattern has matched. */
function wildcardOf(params: Mounted["params"]): readonly unknown[] | undefined {
  if (typeof params !== "object" || params === null) return undefined;
  const lists = Object.values(params).filter((value) => Array.isArray(value));
  return lists.length === 1 ? lists[0] : undefined;
}

function decoded(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
}
