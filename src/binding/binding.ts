import type { DescService } from "@bufbuild/protobuf";
import type { A2AError } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { Arrivals } from "../http/arrivals.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpResponse } from "../http/response.js";
import type { RefusalLog } from "../service/interceptors/access-log.js";
import type { Invoke } from "../service/invoke.js";
import { OlderTable } from "../version/load.js";
import type { Mismatch } from "../version/mismatch-log.js";
import type { ErrorCodes, ServiceShape } from "../version/version.js";
import type { Versions } from "../version/versions.js";

/**
 * Options of a binding, which translates its wire format into calls of `invoke` and back. It takes its methods, routes
 * and codecs from the registered versions, which derive them from a descriptor, and names none of them: a new rpc in
 * the proto, or another version of the protocol, is served by every binding without a change here.
 */
export interface BindingOptions {
  readonly versions: Versions;
  readonly invoke: Invoke;
  readonly limits: Limits;
  /** Counts requests until they are here, over all bindings of a server. */
  readonly arrivals: Arrivals;
  readonly logger: Logger;
  /** Over JSON-RPC the error of a stream that is refused before it begins is the one event of a stream. Default false. */
  readonly streamErrorsAsEvents?: boolean;
  /** Told of requests that were refused before they were a call, where HTTP's answers do not say so; undefined: no one asks. */
  readonly refused?: RefusalLog | undefined;
  /** Told of calls whose version does not fit. */
  readonly mismatched?:
    | ((from: Pick<HttpRequest, "peer" | "header">, mismatch: Omit<Mismatch, "address">) => void)
    | undefined;
}

/**
 * A binding on the HTTP port, beside others.
 *
 * @typeParam M what is known of a request whose verb and path are for this binding, such as its route.
 */
export interface HttpBinding<M = unknown> {
  /** What this binding knows of a verb and a path; undefined where they are not for it. */
  match(verb: string, path: string): M | undefined;
  /** Answers a request that it has matched. Whatever goes wrong is an answer, too: it never rejects. */
  handle(request: HttpRequest, match: M): Promise<HttpResponse>;
  /** An error without a further look at the request, as a client of this binding reads errors. */
  refuse(request: HttpRequest, error: A2AError): HttpResponse;
}

/** What a binding needs that serves a version by a descriptor alone, as gRPC and Connect do. */
export interface ServiceBindingOptions extends Omit<BindingOptions, "versions" | "mismatched"> {
  readonly service: DescService;
  /** Name of the version that the package of the service stands for (specification 3.6.2). */
  readonly version: string;
  /** Status codes that differ from those of the errors' reasons. */
  readonly codes?: ErrorCodes | undefined;
}

/** Options for the service that stands for a version of a name, and what answers its calls. */
export function optionsIn(
  version: string,
  service: DescService,
  { invoke, limits, arrivals, logger, refused }: BindingOptions,
): ServiceBindingOptions {
  return { service, version, invoke, limits, arrivals, logger, refused };
}

/** What a binding needs of the service of a version beside the native one, which is loaded later. */
export interface OlderServiceOptions extends Omit<ServiceBindingOptions, "service" | "codes"> {
  readonly service: ServiceShape;
  readonly versions: Versions;
}

/** Options for the service of another version. */
export function olderOptions(
  version: string,
  service: ServiceShape,
  { versions, invoke, limits, arrivals, logger, refused }: BindingOptions,
): OlderServiceOptions {
  return { service, version, versions, invoke, limits, arrivals, logger, refused };
}

/** Makes what a binding has of the service of another version, once that is loaded: its calls are translated. */
export function olderTable<T extends object>(
  { service: shape, versions, ...options }: OlderServiceOptions,
  make: (options: ServiceBindingOptions) => T,
): OlderTable<T> {
  return new OlderTable(versions, (loaded) => {
    const found = loaded.get(options.version)?.service;
    if (found === undefined) throw new TypeError(`version ${options.version} is loaded without ${shape.typeName}`);
    const { service, translate, codes } = found;
    return make({ ...options, service, invoke: translate(options.invoke), codes });
  });
}
