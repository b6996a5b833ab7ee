import type { DescService } from "@bufbuild/protobuf";
import type { A2AError, Reason, StatusName } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import type { Logger } from "../core/log.js";
import type { InboundBudget } from "../http/inbound-budget.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpResponse } from "../http/response.js";
import type { RejectionLog } from "../service/interceptors/access-log.js";
import type { Invoke } from "../service/invoke.js";
import { OlderTable } from "../version/load.js";
import type { Mismatch } from "../version/mismatch-log.js";
import type { ErrorCodes, ServiceShape } from "../version/version.js";
import type { Versions } from "../version/versions.js";

/**
 * Options of a binding, which translates its wire format into calls of `invoke` and back. It takes its methods, routes
 * and codecs from the registered versions, which derive them from a descriptor. Every binding therefore serves a new
 * rpc of the proto, or another version of the protocol, without a change here.
 */
export interface BindingOptions {
  readonly versions: Versions;
  readonly invoke: Invoke;
  readonly limits: Limits;
  /** Counts requests until they have arrived, over all bindings of a server. */
  readonly inboundBudget: InboundBudget;
  readonly logger: Logger;
  /**
   * Over JSON-RPC, answers a stream that is rejected before its first event with a stream whose only event is the
   * error. Default false.
   */
  readonly streamErrorsAsEvents?: boolean;
  /**
   * Logs requests rejected before they became calls, unless the HTTP answer reports them. Undefined without an access
   * log.
   */
  readonly onRejection?: RejectionLog | undefined;
  /** Counts requests of gRPC rejected before they became calls. Undefined without metrics. */
  readonly counted?: ((code: Reason | StatusName) => void) | undefined;
  /** Notified of calls with an unsupported or wrong version. */
  readonly mismatched?:
    | ((
        from: Pick<HttpRequest, "peer" | "header" | "requestId">,
        mismatch: Omit<Mismatch, "address" | "cause">,
      ) => void)
    | undefined;
}

/**
 * A binding on the HTTP port, next to others.
 *
 * @typeParam M the match of a request's verb and path, such as its route
 */
export interface HttpBinding<M = unknown> {
  /** Matches a verb and a path. Undefined if they do not belong to this binding. */
  match(verb: string, path: string): M | undefined;
  /** Answers a matched request. Errors are answers too; it never rejects. */
  handle(request: HttpRequest, match: M): Promise<HttpResponse>;
  /** Returns an error in the form that clients of this binding read, without reading the request. */
  refuse(request: HttpRequest, error: A2AError): HttpResponse;
}

/** Options of a binding that serves a version by its descriptor only, as gRPC and Connect do. */
export interface ServiceBindingOptions extends Omit<BindingOptions, "versions" | "mismatched"> {
  readonly service: DescService;
  /** Version implied by the package of the service (specification 3.6.2). */
  readonly version: string;
  /** Status codes that differ from those of the errors' reasons. */
  readonly codes?: ErrorCodes | undefined;
}

/** Returns the options of a version's service. */
export function optionsIn(
  version: string,
  service: DescService,
  { invoke, limits, inboundBudget, logger, onRejection, counted }: BindingOptions,
): ServiceBindingOptions {
  return { service, version, invoke, limits, inboundBudget, logger, onRejection, counted };
}

/** Options for the service of a version other than the native one, which is loaded later. */
export interface OlderServiceOptions extends Omit<ServiceBindingOptions, "service" | "codes"> {
  readonly service: ServiceShape;
  readonly versions: Versions;
}

/** Returns the options of another version's service. */
export function olderOptions(
  version: string,
  service: ServiceShape,
  { versions, invoke, limits, inboundBudget, logger, onRejection, counted }: BindingOptions,
): OlderServiceOptions {
  return { service, version, versions, invoke, limits, inboundBudget, logger, onRejection, counted };
}

/** Creates a binding's table for the service of another version once that is loaded. Its calls are translated. */
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
