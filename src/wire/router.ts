import type { Route } from "./routes.js";

/** Result of a match: a route, or the verbs that the path allows. */
export type RouteMatch<R extends Route> =
  | { readonly route: R; readonly values: readonly string[] }
  | { readonly allow: readonly string[] };

/** A node of the tree of paths. */
interface Node<R> {
  readonly literals: Map<string, Node<R>>;
  variable: Node<R> | undefined;
  /** Routes that end at this node, by custom verb (empty if the route has none) and HTTP verb. */
  readonly ends: Map<string, Map<string, R>>;
}

/** The request being matched, and the results so far. */
interface Search {
  readonly verb: string;
  readonly customVerb: string;
  readonly segments: readonly string[];
  /** Segments matched by variables, still percent-encoded. */
  readonly values: string[];
  /** Verbs of routes that match except for the verb. */
  readonly allow: Set<string>;
}

const newNode = <R>(): Node<R> => ({ literals: new Map(), variable: undefined, ends: new Map() });

/** Finds the route of a request in a tree. The time does not depend on the number of routes. */
export class Router<R extends Route> {
  readonly #root = newNode<R>();
  /** Results for paths without variables, by path and verb. Most calls use one of these paths. */
  readonly #literal = new Map<string, Map<string, RouteMatch<R>>>();

  constructor(routes: readonly R[]) {
    for (const route of routes) this.#add(route);
    for (const route of routes) {
      const { segments, customVerb } = route.template;
      if (!segments.every((segment) => "literal" in segment)) continue;
      const before = segments.map((segment) => `/${"literal" in segment ? segment.literal : ""}`).join("");
      const path = customVerb === "" ? before : `${before}:${customVerb}`;
      const verbs = this.#literal.get(path) ?? new Map<string, RouteMatch<R>>();
      this.#literal.set(path, verbs.set(route.verb, { route, values: [] }));
    }
  }

  #add(route: R): void {
    let node = this.#root;
    for (const segment of route.template.segments) {
      if ("literal" in segment) {
        const next = node.literals.get(segment.literal) ?? newNode<R>();
        node.literals.set(segment.literal, next);
        node = next;
      } else {
        node.variable ??= newNode<R>();
        node = node.variable;
      }
    }
    const verbs = node.ends.get(route.template.customVerb) ?? new Map<string, R>();
    verbs.set(route.verb, route);
    node.ends.set(route.template.customVerb, verbs);
  }

  /**
   * Returns the route for a path, which is still percent-encoded. Literal segments take precedence over variables, so
   * `/tasks/tasks` is a task and not the tasks of a tenant. The text after the last colon is the custom verb, split off
   * before decoding. If no route has that verb, the colon is part of the segment. Values are returned as they arrived.
   */
  match(verb: string, path: string): RouteMatch<R> | undefined {
    return this.#literal.get(path)?.get(verb) ?? this.#descend(verb, path);
  }

  #descend(verb: string, path: string): RouteMatch<R> | undefined {
    const segments = path.split("/");
    if (segments.shift() !== "") return undefined;
    const last = segments.at(-1) ?? "";
    const colon = last.lastIndexOf(":");
    if (colon === 0) return undefined;
    if (colon > 0) {
      const before = segments.with(-1, last.slice(0, colon));
      const match = this.#search(verb, last.slice(colon + 1), before);
      if (match !== undefined) return match;
    }
    return this.#search(verb, "", segments);
  }

  #search(verb: string, customVerb: string, segments: readonly string[]): RouteMatch<R> | undefined {
    const search: Search = { verb, customVerb, segments, values: [], allow: new Set() };
    const route = descend(this.#root, 0, search);
    if (route !== undefined) return { route, values: search.values };
    return search.allow.size === 0 ? undefined : { allow: [...search.allow] };
  }
}

/** Descends from the node of the first `depth` segments, literals first, and backtracks if that finds no route. */
function descend<R>(node: Node<R>, depth: number, search: Search): R | undefined {
  const segment = search.segments[depth];
  if (segment === undefined) return routeAt(node, search);
  const literal = node.literals.get(segment);
  const route = literal && descend(literal, depth + 1, search);
  if (route !== undefined || node.variable === undefined || segment === "") return route;
  search.values.push(segment);
  const below = descend(node.variable, depth + 1, search);
  if (below === undefined) search.values.pop();
  return below;
}

function routeAt<R>(node: Node<R>, { verb, customVerb, allow }: Search): R | undefined {
  const verbs = node.ends.get(customVerb);
  const route = verbs?.get(verb);
  if (route === undefined) for (const other of verbs?.keys() ?? []) allow.add(other);
  return route;
}
