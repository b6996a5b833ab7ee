import { type Reason, reasons } from "../core/error.js";
import type { MetricRow } from "./metric-table.js";
import { type MetricFamily, OTHER } from "./metrics.js";
import { a2a, LABEL_PREFIX, parley, rpc, rpcSystems } from "./names.js";
import { isFault, successCode, wireCode } from "./status-codes.js";

/** Returns a unit in UCUM, as OpenTelemetry writes units. */
export function otelUnit(unit: MetricRow["unit"]): string {
  return unit === "seconds" ? "s" : unit === "bytes" ? "By" : "";
}

/**
 * Returns the attributes of a series for OpenTelemetry. Series of calls have the attributes of spans, and that of the
 * binding, because two bindings can be one RPC system.
 */
export function otelAttributes(
  { row: { labels = [] }, service }: Pick<MetricFamily, "row" | "service">,
  values: readonly string[],
): Record<string, string> {
  const binding = values[labels.indexOf("binding")] ?? "";
  const attributes: Record<string, string> = {};
  labels.forEach((label, index) => {
    const value = values[index] ?? "";
    if (label === "binding") Object.assign(attributes, bindingAttributes(value));
    else if (label === "method") attributes[rpc.method] = value === OTHER ? "_OTHER" : `${service}/${value}`;
    else if (label === "version") attributes[a2a.version] = value;
    else if (label === "code") Object.assign(attributes, codeAttributes(value, binding));
    else attributes[`${LABEL_PREFIX}${label}`] = value;
  });
  return attributes;
}

function bindingAttributes(binding: string): Record<string, string> {
  const system = rpcSystems[binding];
  return { [parley.binding]: binding, ...(system !== undefined && { [rpc.system]: system }) };
}

/** @param code `OK`, a reason, or a code that gRPC sends without a reason */
function codeAttributes(code: string, binding: string): Record<string, string> {
  if (code === "OK") {
    const sent = successCode(binding);
    return sent === undefined ? {} : { [rpc.statusCode]: sent };
  }
  if (!isReason(code)) return code === OTHER ? { [parley.errorReason]: code } : { [rpc.statusCode]: code };
  const sent = wireCode(reasons[code], binding);
  return {
    [rpc.statusCode]: sent,
    [parley.errorReason]: code,
    ...(isFault(reasons[code].code) && { [rpc.errorType]: sent }),
  };
}

const isReason = (code: string): code is Reason => Object.hasOwn(reasons, code);
