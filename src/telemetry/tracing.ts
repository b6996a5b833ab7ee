import { within } from "../core/async.js";
import type { Logger } from "../core/log.js";
import type { OpenTelemetryApi } from "./api.js";
import { chosenApi, hasEffect, type LoadApi, type TelemetryOption } from "./choice.js";
import type { Metrics } from "./metrics.js";
import { observe } from "./observables.js";
import { Tracer } from "./tracer.js";

/** Time for the SDK to export ended spans when the server closes, in milliseconds. */
const FLUSH_MS = 2_000;

/** Parameters of `Tracing`. */
interface TracingOptions {
  /** Default: spans if an SDK has registered itself before the start. */
  readonly telemetry?: TelemetryOption | undefined;
  /** Imports the API. Undefined on runtimes where it has to be given. */
  readonly load?: LoadApi | undefined;
  readonly logger: Logger;
  /** Metrics for the meter provider of the SDK. Default: none. */
  readonly metrics?: Metrics | undefined;
}

/** The tracer of a server, from its start on. */
export class Tracing {
  readonly #options: TracingOptions;
  #tracer: Tracer | undefined;
  #endMetrics: () => void = () => {};

  constructor(options: TracingOptions) {
    this.#options = options;
  }

  /**
   * Undefined before the start, if no spans are created, and while no SDK is registered: calls then cost as much as
   * without spans. An API given as the option is always used, because its SDK may be registered elsewhere.
   */
  get tracer(): Tracer | undefined {
    if (this.#tracer === undefined) return undefined;
    return typeof this.#options.telemetry === "object" || hasEffect() ? this.#tracer : undefined;
  }

  /** The API, also while no SDK is registered. Undefined before the start, and if no spans are created. */
  get api(): OpenTelemetryApi | undefined {
    return this.#tracer?.api;
  }

  /** Creates the tracer. @throws Error if the option asks for a package that is not installed */
  async start(): Promise<void> {
    const { telemetry, load, logger, metrics } = this.#options;
    let api: OpenTelemetryApi | undefined;
    try {
      api = await chosenApi(telemetry, load);
    } catch (cause) {
      const missing = "@opentelemetry/api cannot be imported";
      if (telemetry === true) throw new Error(`telemetry is true, but ${missing}.`, { cause });
      const help = "no spans are created; install it beside parley-a2a";
      logger.warn({ err: cause }, `an SDK of OpenTelemetry is registered, but ${missing}: ${help}`);
    }
    this.#tracer = api && new Tracer(api);
    if (metrics !== undefined && api?.metrics !== undefined) this.#endMetrics = observe(metrics, api.metrics);
  }

  /** Asks the SDK to export ended spans. Never rejects, and takes at most two seconds. */
  async end(): Promise<void> {
    if (this.#tracer === undefined) return;
    const provider = this.#tracer.api.trace.getTracerProvider() as Flushing & { getDelegate?(): Flushing };
    const flushed = (async () => (provider.getDelegate?.() ?? provider).forceFlush?.())();
    // The SDK logs errors of its exporter.
    await within(
      FLUSH_MS,
      flushed.catch(() => {}),
    );
    this.#endMetrics();
  }
}

/** A provider of an SDK. The API does not have the method. */
interface Flushing {
  forceFlush?(): Promise<void>;
}
