import type { DescMessage, Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { mapStream } from "../../core/map-stream.js";
import type { OlderVersion } from "../../version/client-versions.js";
import { EXTENSIONS_PARAMETER, parseExtensions, VERSION_PARAMETER } from "../../wire/service-params.js";
import type { RequestHeaders } from "../transport/request-headers.js";

/** Parameters of every call of an interface. */
interface Parameters {
  /** `Major.Minor`, which calls of the contract's version name. */
  readonly version: string;
  /** An older version. Calls do not name it, and its own header, if it has one, lists extensions. */
  readonly older: OlderVersion | undefined;
  /** Tenant of requests without one; empty for none. */
  readonly tenant: string;
  /** URIs of requested extensions; a call may add others. */
  readonly extensions: readonly string[];
}

/**
 * Adds version, extensions and tenant to a call (specification 3.2.6, 3.6.1, 4.4.6, 4.6.1). Values set by the call take
 * precedence.
 */
export class CallParameters {
  readonly #version: string | undefined;
  readonly #name: string | undefined;
  readonly #tenant: string;
  readonly #extensions: string;

  constructor({ version, older, tenant, extensions }: Parameters) {
    this.#version = older === undefined ? version : undefined;
    this.#name = older === undefined ? EXTENSIONS_PARAMETER : older.extensions;
    this.#tenant = tenant;
    this.#extensions = extensions.join(",");
  }

  addTo(headers: RequestHeaders): void {
    if (this.#version !== undefined && !headers.has(VERSION_PARAMETER)) headers.set(VERSION_PARAMETER, this.#version);
    const added = headers.get(EXTENSIONS_PARAMETER) ?? undefined;
    const own = this.#extensions;
    if (added === undefined && own === "") return;
    if (this.#name !== EXTENSIONS_PARAMETER) headers.delete(EXTENSIONS_PARAMETER);
    if (this.#name === undefined) return;
    const all = added === undefined ? own : own === "" ? added : parseExtensions(`${own},${added}`).join(",");
    headers.set(this.#name, all);
  }

  /** Copies the message to add a tenant, because the request belongs to the caller. */
  withTenant<M extends Message>(desc: DescMessage, message: M): M {
    if (this.#tenant === "" || desc.field.tenant === undefined) return message;
    if ((message as { tenant?: string }).tenant !== "") return message;
    return Object.assign(Object.create(Object.getPrototypeOf(message)), message, { tenant: this.#tenant });
  }
}

/** Adds the parameters after the caller's interceptors, for transports that need it. */
export function parametersLast(parameters: CallParameters): Interceptor {
  return (next) => (request) => {
    parameters.addTo(request.header);
    const { input } = request.method;
    if (!request.stream) return next({ ...request, message: parameters.withTenant(input, request.message) });
    const message = mapStream(request.message, { item: (each) => parameters.withTenant(input, each) });
    return next({ ...request, message });
  };
}
