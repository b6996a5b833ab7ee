import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { EXTENSIONS_PARAMETER, parseExtensions, VERSION_PARAMETER } from "../wire/service-params.js";

/** What every call of an interface carries. */
export interface Parameters {
  /** `Major.Minor`; undefined where calls of the version do not name it. */
  readonly version: string | undefined;
  /** The header that names extensions, undefined where the version has none. */
  readonly header: string | undefined;
  /** For requests that name none; empty: none. */
  readonly tenant: string;
  /** URIs of extensions that are asked for; a call may add others. */
  readonly extensions: readonly string[];
}

/** Puts the version, the extensions and the tenant onto each call (specification 3.2.6, 3.6.1, 4.4.6, 4.6.1); what a call says itself stands. */
export function parameters({ version, header: name, tenant, extensions }: Parameters): Interceptor {
  const own = extensions.join(",");
  return (next) => (request) => {
    const { header } = request;
    if (version !== undefined && !header.has(VERSION_PARAMETER)) header.set(VERSION_PARAMETER, version);
    const added = header.get(EXTENSIONS_PARAMETER);
    if (name !== EXTENSIONS_PARAMETER) header.delete(EXTENSIONS_PARAMETER);
    if (name !== undefined) {
      if (added !== null && own !== "") header.set(name, parseExtensions(`${own},${added}`).join(","));
      else if (own !== "") header.set(name, own);
      else if (added !== null) header.set(name, added);
    }
    if (tenant === "" || !hasTenant(request.method.input)) return next(request);
    if (!request.stream) return next({ ...request, message: withTenant(request.message, tenant) });
    return next({ ...request, message: withTenants(request.message, tenant) });
  };
}

const hasTenant = (input: DescMessage): boolean => input.field.tenant !== undefined;

/** A copy: the request is its caller's. */
function withTenant<M extends Message>(message: M, tenant: string): M {
  if ((message as { tenant?: string }).tenant !== "") return message;
  return Object.assign(Object.create(Object.getPrototypeOf(message)), message, { tenant });
}

async function* withTenants<M extends Message>(messages: AsyncIterable<M>, tenant: string): AsyncIterable<M> {
  for await (const message of messages) yield withTenant(message, tenant);
}
