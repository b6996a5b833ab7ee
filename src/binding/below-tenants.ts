import type { Message } from "@bufbuild/protobuf";
import { type A2AError, invalid } from "../core/error.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpResponse } from "../http/response.js";
import type { Invoke } from "../service/invoke.js";
import type { ProtocolVersion } from "../version/version.js";
import { Versions } from "../version/versions.js";
import { decodeSegment } from "../wire/path-template.js";
import type { BindingOptions, HttpBinding } from "./binding.js";

/** What a path below that of a tenant leads to. */
export interface BelowTenant {
  readonly tenant: string;
  /** The rest of the path, which begins with `/`. */
  readonly path: string;
  readonly binding: HttpBinding;
  readonly match: unknown;
}

export interface BelowTenants extends HttpBinding<BelowTenant> {
  /** Refuses what comes to the URL of a tenant with a verb that nobody serves there; undefined for other paths. */
  unserved(request: HttpRequest): HttpResponse | undefined;
}

/** What is served below the path of each tenant, made with `optionsBelowTenants`. */
interface Below {
  readonly jsonRpc: HttpBinding & Pick<BelowTenants, "unserved">;
  readonly rest: HttpBinding;
}

/**
 * JSON-RPC and HTTP+JSON once more below `/{tenant}`, for versions whose messages have no tenant: their cards name a URL for each. To be
 * asked behind the bindings themselves, so that it costs the calls nothing that are theirs.
 *
 * @param isTenant whether there is an agent for a tenant
 */
export function belowTenants({ jsonRpc, rest }: Below, isTenant: (tenant: string) => boolean): BelowTenants {
  const placeOf = (path: string): Pick<BelowTenant, "tenant" | "path"> | undefined => {
    const end = path.indexOf("/", 1);
    const tenant = decodeSegment(path.slice(1, end < 0 ? undefined : end));
    if (tenant === undefined || tenant === "" || !isTenant(tenant)) return undefined;
    return { tenant, path: end < 0 ? "/" : path.slice(end) };
  };
  const find = (verb: string, path: string): BelowTenant | undefined => {
    const place = placeOf(path);
    if (place === undefined) return undefined;
    for (const binding of [jsonRpc, rest]) {
      const match = binding.match(verb, place.path);
      if (match !== undefined) return { ...place, binding, match };
    }
    return undefined;
  };
  return {
    match: find,
    handle: (request, { tenant, path, binding, match }) => {
      request.target = { ...request.target, path, tenant };
      return binding.handle(request, match);
    },
    refuse: (request: HttpRequest, error: A2AError) =>
      (find(request.method, request.target.path)?.binding ?? jsonRpc).refuse(request, error),
    unserved: (request) => {
      const place = placeOf(request.target.path);
      if (place?.path !== "/") return undefined;
      request.target = { ...request.target, ...place };
      return jsonRpc.unserved(request);
    },
  };
}

/**
 * Options for bindings that are asked below the path of a tenant: every call is for that tenant. The service's own version has its paths
 * of HTTP+JSON there already.
 */
export function optionsBelowTenants(options: BindingOptions): BindingOptions {
  const { native, others, off } = options.versions;
  const withoutRest = (version: ProtocolVersion): ProtocolVersion => ({
    ...version,
    load: async () => {
      const { rest: _, ...others } = await version.load();
      return others;
    },
  });
  const versions = new Versions(
    { ...native, rest: { ...native.rest, endpoints: [] } },
    others.map((version) => (version.isUnnamed === true ? version : withoutRest(version))),
    off,
  );
  return { ...options, versions, invoke: inTenantOfPath(options.invoke) };
}

/**
 * It stands below the translators of versions, which make further calls of one: none of them is for another tenant. Requests are those of
 * one call, so that each may be changed.
 */
function inTenantOfPath(invoke: Invoke): Invoke {
  return (asked) => {
    const { pathTenant } = asked.call;
    if (pathTenant !== undefined) (asked.request as { tenant?: string }).tenant = pathTenant;
    return invoke(asked);
  };
}

/**
 * Checks that a request names no other tenant than its path does.
 *
 * @throws A2AError INVALID_PARAMS
 */
export function checkTenant(request: Message, pathTenant: string): void {
  const { tenant = "" } = request as { tenant?: string };
  if (tenant === "" || tenant === pathTenant) return;
  const description = `is another than that of the URL, ${JSON.stringify(pathTenant)}`;
  throw invalid([{ field: "tenant", description }]);
}
