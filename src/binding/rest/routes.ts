import { type HttpRequest, serviceParameter } from "../../http/request.js";
import type { Invoke } from "../../service/invoke.js";
import type { Endpoint, RestDialect } from "../../version/rest.js";
import type { ProtocolVersion } from "../../version/version.js";
import type { Versions } from "../../version/versions.js";
import { type RouteMatch, Router } from "../../wire/router.js";
import { VERSION_PARAMETER } from "../../wire/service-params.js";
import { serveIn } from "../binding.js";

/** An endpoint as one version has it. */
export interface RestRoute extends Endpoint {
  /** Name of the version. */
  readonly version: string;
  readonly invoke: Invoke;
  readonly dialect: RestDialect;
}

/** What a verb and a path lead to: a route with the values in its path, or verbs that would lead to one. */
export type RestMatch = RouteMatch<RestRoute>;

/** The routes of all versions that are spoken over HTTP+JSON. */
export class Routes {
  readonly #versions: Versions;
  /** Those of all versions in one tree; where several have the same one, that of the first. */
  readonly #all: Router<RestRoute>;
  /** The same of each version; undefined where there is one alone, and nothing to choose from. */
  readonly #ofVersion: ReadonlyMap<string, Router<RestRoute>> | undefined;

  constructor(versions: Versions, invoke: Invoke) {
    const spoken = versions.all.map((version) => routesIn(version, invoke));
    this.#versions = versions;
    this.#all = new Router(spoken.toReversed().flat());
    if (spoken.length > 1) {
      this.#ofVersion = new Map(versions.all.map(({ name }, i) => [name, new Router(spoken[i] ?? [])]));
    }
  }

  /** What a verb and a path lead to in any version. */
  match(verb: string, path: string): RestMatch | undefined {
    return this.#all.match(verb, path);
  }

  /** What they lead to in the version that the request names, given what they lead to in any. */
  choose(request: HttpRequest, match: RestMatch): RestMatch | undefined {
    if (this.#ofVersion === undefined) return match;
    const asked = serviceParameter(request, VERSION_PARAMETER);
    if (asked === undefined || ("route" in match && asked === match.route.version)) return match;
    const named = this.#versions.named(asked);
    return named === undefined ? match : this.#ofVersion.get(named)?.match(request.method, request.target.path);
  }

  /** How errors are written that belong to no route: as the version has it that the request names, else the native one. */
  dialect(request: HttpRequest): RestDialect {
    const { native, all } = this.#versions;
    const asked = this.#ofVersion && serviceParameter(request, VERSION_PARAMETER);
    if (asked === undefined) return native.rest;
    const named = this.#versions.named(asked);
    return all.find(({ name }) => name === named)?.rest ?? native.rest;
  }
}

function routesIn(version: ProtocolVersion, invoke: Invoke): RestRoute[] {
  const { name, rest: dialect } = version;
  if (dialect === undefined) return [];
  const serve = serveIn(version, invoke);
  const routes = dialect.endpoints.map((endpoint) => ({ ...endpoint, version: name, invoke: serve, dialect }));
  // Whatever can be read at once can be asked about without its body (RFC 9110, 9.3.2).
  const readable = routes.filter(({ verb, isStream }) => verb === "GET" && !isStream);
  return [...routes, ...readable.map((route) => ({ ...route, verb: "HEAD" }))];
}
