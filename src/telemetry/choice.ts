import { expects, type OptionCheck } from "../core/options.js";
import type { OpenTelemetryApi } from "./api.js";

/**
 * True: spans by `@opentelemetry/api`, also for an SDK that registers later. False: none. The module
 * `@opentelemetry/api` itself: for bundles, and for runtimes other than Node.js.
 */
export type TelemetryOption = boolean | OpenTelemetryApi;

/** Imports the API. */
export type LoadApi = () => Promise<OpenTelemetryApi>;

/** The global in which version 1 of the API keeps what an SDK has registered, for all copies of the API. */
const REGISTRY = Symbol.for("opentelemetry.js.api.1");

export const telemetryFaults: OptionCheck = expects(
  "true, false or the module @opentelemetry/api",
  (value) => typeof value === "boolean" || isApi(value),
);

/** Tells whether a value is the API. */
export function isApi(value: unknown): value is OpenTelemetryApi {
  if (typeof value !== "object" || value === null) return false;
  return ["trace", "context", "propagation", "createTraceState"].every((name) => name in value);
}

/**
 * Returns the API of OpenTelemetry if it is to be used: by default if an SDK has registered itself in this process.
 *
 * @param load undefined where the API has to be given
 * @throws the error of the import
 */
export async function chosenApi(
  option: TelemetryOption | undefined,
  load: LoadApi | undefined,
): Promise<OpenTelemetryApi | undefined> {
  if (typeof option === "object") return option;
  if (option === true && load === undefined)
    throw new TypeError("telemetry has to be the module @opentelemetry/api here");
  return usesApi(option) ? load?.() : undefined;
}

/** Tells whether the API is to be used: by default if an SDK has registered itself in this process. */
export function usesApi(option: TelemetryOption | undefined): boolean {
  return typeof option === "object" || (option ?? isRegistered());
}

/** Tells whether calls of the API have any effect now: an SDK has registered a part of itself that spans use. */
export function hasEffect(): boolean {
  const registry = registered();
  return registry?.trace !== undefined || registry?.context !== undefined || registry?.propagation !== undefined;
}

function isRegistered(): boolean {
  const registry = registered();
  return registry?.trace !== undefined || registry?.metrics !== undefined;
}

/** The parts that an SDK has registered. */
interface Registry {
  readonly trace?: unknown;
  readonly metrics?: unknown;
  readonly context?: unknown;
  readonly propagation?: unknown;
}

function registered(): Registry | undefined {
  return (globalThis as { [REGISTRY]?: Registry })[REGISTRY];
}
