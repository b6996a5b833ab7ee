/** The API of OpenTelemetry as `src` uses it. The first install does not have the package. */
declare module "@opentelemetry/api" {
  type Api = import("../../src/telemetry/api.js").OpenTelemetryApi;

  export const trace: Api["trace"];
  export const metrics: NonNullable<Api["metrics"]>;
  export const context: Api["context"];
  export const propagation: Api["propagation"];
  export const ROOT_CONTEXT: Api["ROOT_CONTEXT"];
  export const createTraceState: Api["createTraceState"];
}
