import { A2AError } from "../../core/error.js";
import { type HttpRequest, serviceParameter } from "../../http/request.js";
import type { Invoke } from "../../service/invoke.js";
import { OlderTable, translated } from "../../version/load.js";
import { versionWithPath } from "../../version/recognition.js";
import type { Endpoint, RestDialect } from "../../version/rest.js";
import type { LoadedVersion, ProtocolVersion } from "../../version/version.js";
import type { Versions } from "../../version/versions.js";
import { type RouteMatch, Router } from "../../wire/router.js";
import { VERSION_PARAMETER } from "../../wire/service-params.js";

/** An endpoint in one version. */
export interface RestRoute extends Endpoint {
  /** Name of the version. */
  readonly version: string;
  readonly invoke: Invoke;
  readonly dialect: RestDialect;
}

/** The match of a verb and a path in the service's own version, or the other version with such paths. */
export type RestMatch = RouteMatch<RestRoute> | { readonly other: ProtocolVersion };

/** The route of a request with the values in its path, or the error in the dialect of its version. */
export type RestChoice =
  | { readonly route: RestRoute; readonly values: readonly string[] }
  | { readonly refused: A2AError; readonly dialect: RestDialect };

interface VersionRoutes {
  readonly router: Router<RestRoute>;
  readonly dialect: RestDialect;
}

/** The routes of all versions with HTTP+JSON. */
export class RouteTable {
  readonly #versions: Versions;
  readonly #native: VersionRoutes;
  readonly #others: OlderTable<ReadonlyMap<string, VersionRoutes>>;
  readonly #isAlone: boolean;

  constructor(versions: Versions, invoke: Invoke) {
    const { native, others } = versions;
    this.#versions = versions;
    this.#isAlone = others.length === 0;
    this.#native = routesOf(native.name, native.rest, invoke);
    const translatedRoutes = (name: string, version: LoadedVersion): VersionRoutes => {
      const { rest = { ...native.rest, endpoints: [] } } = version;
      return routesOf(name, rest, translated(version, invoke, versions.names));
    };
    this.#others = new OlderTable(
      versions,
      (loaded) => new Map([...loaded].map(([name, version]) => [name, translatedRoutes(name, version)])),
    );
  }

  /** Matches a verb and a path in any version. Undefined if no version has them. */
  match(verb: string, path: string): RestMatch | undefined {
    const other = versionWithPath(path, this.#versions.others);
    return other === undefined ? this.#native.router.match(verb, path) : { other };
  }

  /**
   * Returns the route in the version that the request names. If it names none, a path that begins like those of another
   * version belongs to that version, which takes precedence over a tenant of the same name. Undefined for a version
   * that must be loaded first.
   */
  choose(request: HttpRequest, match: RestMatch): RestChoice | undefined {
    const value = serviceParameter(request, VERSION_PARAMETER);
    // The case of nearly all calls.
    if ("route" in match && (this.#isAlone || value === undefined || value === match.route.version)) return match;
    const asked = value?.trim();
    if (asked === undefined || asked === "") {
      return "other" in match ? this.#in(match.other, request, undefined) : this.#chosen(match, this.#native);
    }
    const native = "other" in match ? this.#native.router.match(request.method, request.target.path) : match;
    const named = this.#versions.named(asked);
    const other = named === undefined ? undefined : this.#versions.other(named);
    if (other !== undefined) return this.#in(other, request, native);
    // A call of an unsupported version is rejected like all others, after authentication.
    if (native !== undefined) return this.#chosen(native, this.#native);
    if (named !== undefined) return { refused: this.#elsewhere(named, match), dialect: this.#native.dialect };
    return { refused: this.#versions.unsupported(asked), dialect: this.#native.dialect };
  }

  /** @param native the match if the request named the service's own version */
  #in(
    version: ProtocolVersion,
    request: HttpRequest,
    native: RouteMatch<RestRoute> | undefined,
  ): RestChoice | undefined {
    const routes = this.#others.now?.get(version.name);
    if (routes === undefined) return undefined;
    const { path } = request.target;
    const match = routes.router.match(request.method, path);
    if (match !== undefined) return this.#chosen(match, routes);
    const owner = versionWithPath(path, this.#versions.others);
    const found = owner === undefined || owner === version ? native : { other: owner };
    if (found === undefined) return this.#chosen(undefined, routes);
    return { refused: this.#elsewhere(version.name, found), dialect: routes.dialect };
  }

  /** Returns the error for a path of another version than the one that the request names. */
  #elsewhere(named: string, match: RestMatch): A2AError {
    const { native, text } = this.#versions;
    const owner = "other" in match ? match.other.name : native.name;
    const message =
      `Nothing is served under this path in A2A ${named}, which the call names (header A2A-Version); ` +
      `paths like this are those of ${owner}.`;
    const metadata = { requestedVersion: named, supportedVersions: text };
    return new A2AError("METHOD_NOT_FOUND", message, { metadata });
  }

  #chosen(match: RouteMatch<RestRoute> | undefined, { dialect }: VersionRoutes): RestChoice {
    if (match === undefined) return { refused: pathNotFound(), dialect };
    if ("route" in match) return match;
    const allow = match.allow.filter((verb) => verb !== "HEAD").join(", ");
    const message = `This path is served with ${allow}.`;
    return { refused: new A2AError("METHOD_NOT_ALLOWED", message, { headers: { allow } }), dialect };
  }
}

/** Returns the error for an unknown path. */
export function pathNotFound(): A2AError {
  return new A2AError("METHOD_NOT_FOUND", "Nothing is served under this path.");
}

function routesOf(version: string, dialect: RestDialect, invoke: Invoke): VersionRoutes {
  const routes = dialect.endpoints.map((endpoint) => ({ ...endpoint, version, invoke, dialect }));
  // Every GET without a stream is also served as HEAD, without a body (RFC 9110, 9.3.2).
  const readable = routes.filter(({ verb, isStream }) => verb === "GET" && !isStream);
  return { router: new Router([...routes, ...readable.map((route) => ({ ...route, verb: "HEAD" }))]), dialect };
}
