import type { Interceptor, Transport } from "@connectrpc/connect";
import { A2AError } from "../core/error.js";
import { lazyImport } from "../core/lazy.js";
import * as check from "../core/options.js";
import { type OlderVersion, olderVersions } from "../version/client-versions.js";
import { PROTOCOL_VERSION } from "../version/v1.js";
import { parseVersion } from "../wire/service-params.js";
import { checkOptions } from "./calls/check-options.js";
import { CallParameters, parametersLast } from "./calls/parameters.js";
import type { Binding } from "./discovery/interfaces.js";
import { clientLimits } from "./limits.js";
import { transportChecks } from "./options.js";
import type { Platform, PlatformOptions, TransportSettings } from "./platform.js";
import { connectErrors, withConnectErrors } from "./transport/connect-errors.js";
import { jsonRpcTransport } from "./transport/jsonrpc.js";
import { lazyTransport } from "./transport/lazy.js";
import { restTransport } from "./transport/rest.js";

const ofOlder = lazyImport(() => import("./transport/older.js"));

/** Returns the transport of a binding. @throws A2AError UNSUPPORTED_OPERATION if the platform has none for it */
export function transportOf(platform: Platform, binding: Binding, settings: TransportSettings): Transport {
  if (settings.older !== undefined) {
    return lazyTransport(async () => {
      const { olderTransport } = await ofOlder();
      return olderTransport(platform, binding, settings);
    });
  }
  switch (binding) {
    case "JSONRPC":
      return jsonRpcTransport(settings, platform.http);
    case "HTTP+JSON":
      return restTransport(settings, platform.http);
    case "CONNECT":
      return platform.connect(settings);
    case "GRPC-WEB":
      return platform.grpcWeb(settings);
    case "GRPC":
      if (platform.grpc === undefined)
        throw new A2AError("UNSUPPORTED_OPERATION", "This runtime does not support gRPC.");
      return platform.grpc(settings);
  }
}

/** Options of `createTransport`. */
export interface TransportOptions extends PlatformOptions {
  /** Outermost first. */
  readonly interceptors?: readonly Interceptor[];
  /** Maximum size of an answer, or of an event of a stream, in bytes. Default 64 MiB. */
  readonly maxAnswerBytes?: number;
  /** Maximum number of values in it (fields, list elements, members of JSON). Default 500,000. */
  readonly maxAnswerValues?: number;
  /** Protocol version to speak, as `Major.Minor`. Default: that of the contract. */
  readonly version?: string;
}

/** A transport with its own connections. */
interface RawTransport extends Transport {
  /** Ends its calls, closes its connections and rejects new calls. */
  close(): Promise<void>;
}

/**
 * Type of `createTransport`. Nothing is resumed, retried or authenticated, and errors are ConnectErrors, which
 * `clientError` converts to A2AErrors.
 *
 * @param url that of the interface; for gRPC also `host:port`
 * @throws A2AError VERSION_NOT_SUPPORTED for an unknown version, INVALID_PARAMS for invalid options
 */
export type CreateTransport = (binding: Binding, url: string, options?: TransportOptions) => RawTransport;

const positive = check.aWholeNumber(1, Number.MAX_SAFE_INTEGER);

/** Limits and the version are checked where they are used. */
const checks: check.OptionChecks<TransportOptions> = {
  ...transportChecks,
  maxAnswerBytes: positive,
  maxAnswerValues: positive,
  version: check.aText(),
};

/** Creates `createTransport` for a platform. */
export function createTransportWith(platformOf: (options: PlatformOptions) => Platform): CreateTransport {
  return (binding, url, options = {}) => {
    checkOptions(options, checks);
    const limits = clientLimits(options.limits);
    const { interceptors = [], maxAnswerBytes = limits.maxAnswerBytes } = options;
    const { maxAnswerValues = limits.maxAnswerValues } = options;
    const older = olderVersion(options.version ?? PROTOCOL_VERSION, binding);
    const platform = platformOf(options);
    const parameters = new CallParameters({ version: PROTOCOL_VERSION, older, tenant: "", extensions: [] });
    const own = interceptors.length === 0 ? { parameters } : {};
    // Changes by interceptors take precedence.
    const all = interceptors.length === 0 ? [] : [...interceptors, connectErrors, parametersLast(parameters)];
    const settings = { url, ...own, interceptors: all, maxAnswerBytes, maxAnswerValues, older };
    return { ...withConnectErrors(transportOf(platform, binding, settings)), close: () => platform.close() };
  };
}

function olderVersion(given: string, binding: Binding): OlderVersion | undefined {
  const version = parseVersion(given) ?? given;
  if (version === PROTOCOL_VERSION) return undefined;
  const older = olderVersions.find(({ name }) => name === version);
  if (older?.bindings.includes(binding) === true) return older;
  const message = `A2A ${given.slice(0, 32)} over ${binding} is not supported here.`;
  throw new A2AError("VERSION_NOT_SUPPORTED", message, { metadata: { requestedVersion: given.slice(0, 32) } });
}
