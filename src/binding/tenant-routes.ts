import type { Message } from "@bufbuild/protobuf";
import { type A2AError, invalid } from "../core/error.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpResponse } from "../http/response.js";
import type { Invoke } from "../service/invoke.js";
import type { ProtocolVersion } from "../version/version.js";
import { Versions } from "../version/versions.js";
import { decodeSegment } from "../wire/path-template.js";
import type { BindingOptions, HttpBinding } from "./binding.js";

/** The match of a path below that of a tenant. */
interface BelowTenant {
  readonly tenant: string;
  /** The rest of the path, with a leading `/`. */
  readonly path: string;
  readonly binding: HttpBinding;
  readonly match: unknown;
}

export interface TenantRoutes extends HttpBinding<BelowTenant> {
  /** Rejects a request to the URL of a tenant with an unsupported verb. Undefined for other paths. */
  unserved(request: HttpRequest): HttpResponse | undefined;
}

/** The bindings below the path of each tenant, created with `optionsBelowTenants`. */
interface Below {
  readonly jsonRpc: HttpBinding & Pick<TenantRoutes, "unserved">;
  readonly rest: HttpBinding;
}

/**
 * Serves JSON-RPC and HTTP+JSON also below `/{tenant}`, for versions whose messages have no tenant: their cards name a
 * URL for each. It is matched after the bindings themselves, so that their calls do not pay for it.
 *
 * @param isTenant returns true if a tenant has an agent
 */
export function belowTenants({ jsonRpc, rest }: Below, isTenant: (tenant: string) => boolean): TenantRoutes {
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
 * Returns the options of bindings below the path of a tenant, where every call is for that tenant. The service's own
 * version already has its HTTP+JSON paths there.
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
 * Sets the tenant of the path. It runs inside the translators of versions, whose further calls are all for the same
 * tenant. A request belongs to one call, so it may be changed.
 */
function inTenantOfPath(invoke: Invoke): Invoke {
  return (asked) => {
    const { pathTenant } = asked.call;
    const request: Message & { tenant?: string } = asked.request;
    if (pathTenant !== undefined) request.tenant = pathTenant;
    return invoke(asked);
  };
}

/**
 * Rejects a request that names another tenant than its path.
 *
 * @throws A2AError INVALID_PARAMS
 */
export function checkTenant(request: Message, pathTenant: string): void {
  const { tenant = "" }: Message & { tenant?: string } = request;
  if (tenant === "" || tenant === pathTenant) return;
  const description = `is another than that of the URL, ${JSON.stringify(pathTenant)}`;
  throw invalid([{ field: "tenant", description }]);
}
