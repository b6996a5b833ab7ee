import { lazyImport } from "../core/lazy.js";
import type { OpenTelemetryApi } from "./api.js";

/** Imports the API of OpenTelemetry. Apart, because bundles for other runtimes than Node.js may not have it. */
export const openTelemetryApi: () => Promise<OpenTelemetryApi> = lazyImport(() => import("@opentelemetry/api"));
