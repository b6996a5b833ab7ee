const everywhere = (...lines: readonly string[]): string[] =>
  ["JSONRPC", "HTTP+JSON", "GRPC"].flatMap((binding) => lines.map((line) => `${binding} ${line}`));

const ofDraft = ["send", "send-unknown", "stream"].map((check) => `${check}: .*returnImmediately`);

/**
 * Findings of doctor for each server, as patterns of `binding check: detail`. Those over JSON-RPC of Go, JavaScript and
 * Python were also observed with curl. The others were judged by the detail. Each deviates from the section that the
 * check names.
 */
export const findings: Readonly<Record<string, readonly string[]>> = {
  Parley: [],
  // The server follows a draft of 1.0.
  "a2a-java-sdk 1.0.0.Alpha3": [
    "card cache: Cache-Control is missing",
    "card etag: ETag is missing",
    ...["JSONRPC", "HTTP+JSON"].flatMap((binding) =>
      ["unknown-version: .*got TASK_NOT_FOUND", ...ofDraft].map((line) => `${binding} ${line}`),
    ),
    "JSONRPC push: .*got INVALID_PARAMS: .*url in message",
    "JSONRPC error-data: details are missing",
    "JSONRPC parse-error: .*closed before the answer was complete",
    "JSONRPC wrong-params: .*got -32700",
    "JSONRPC unknown-member: .*got -32602",
    "HTTP+JSON extended-card: .*got METHOD_NOT_FOUND",
    "HTTP+JSON error-status: error is missing in HTTP 404",
    "HTTP+JSON error-details: error is missing",
  ],
  "@a2a-js/sdk 1.3": [
    "card card: /skills is empty",
    ...everywhere("empty-message: the call succeeded"),
    "JSONRPC no-request: .*got -32602",
    "JSONRPC wrong-params: .*got -32001",
  ],
  "a2a-sdk 1.3 (Python)": ["card cache: Cache-Control is missing", "GRPC unknown-version: .*got TASK_NOT_FOUND"],
  "a2a-go 2.3": [
    "card cache: Cache-Control is missing",
    "card etag: ETag is missing",
    ...everywhere(
      "unknown-version: .*got TASK_NOT_FOUND",
      "finished-task: .*got INVALID_PARAMS",
      "extended-card: .*got EXTENDED_AGENT_CARD_NOT_CONFIGURED",
      "subscribe-finished: .*got TASK_NOT_FOUND",
    ),
    "JSONRPC no-version: it is answered as one of 1\\.0",
    "HTTP\\+JSON no-version: it is answered as one of 1\\.0",
  ],
};
