import type { Observations, Series } from "./cells.js";
import type { MetricFamily, Metrics } from "./metrics.js";
import { metricsOf } from "./registry.js";

/** Media type of the text (Prometheus text exposition format 0.0.4). */
export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Returns the metrics of a server in the text format of Prometheus, for a route of a program that embeds Parley.
 *
 * @param server from `createServer`, `createA2A` or `createFetchA2A`
 * @throws TypeError for a server without the option `metrics`
 */
export async function metricsText(server: object): Promise<string> {
  return prometheusText(metricsOf(server));
}

/** Writes all metrics in the text format of Prometheus. */
export async function prometheusText(metrics: Metrics): Promise<string> {
  return expositionText(await metrics.read());
}

/** Writes metrics that were read. */
export function expositionText(families: readonly MetricFamily[]): string {
  return families.map(familyText).join("");
}

function familyText({ row, numbers, histograms, bounds }: MetricFamily): string {
  const { name, help, kind, labels: names = [] } = row;
  const lines = [`# HELP ${name} ${escapedHelp(help)}`, `# TYPE ${name} ${kind}`];
  for (const { labels, value } of numbers) lines.push(`${name}${labelText(names, labels)} ${numberText(value)}`);
  for (const series of histograms) lines.push(...histogramLines(name, names, bounds, series));
  return `${lines.join("\n")}\n`;
}

function histogramLines(
  name: string,
  names: readonly string[],
  bounds: readonly number[],
  { labels, value: { counts, sum, count } }: Series<Observations>,
): string[] {
  let total = 0;
  const lines = [...bounds, Number.POSITIVE_INFINITY].map((bound, index) => {
    total += counts[index] ?? 0;
    return `${name}_bucket${labelText([...names, "le"], [...labels, numberText(bound)])} ${total}`;
  });
  const own = labelText(names, labels);
  return [...lines, `${name}_sum${own} ${numberText(sum)}`, `${name}_count${own} ${count}`];
}

function labelText(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return "";
  return `{${names.map((name, index) => `${name}="${escapedLabel(values[index] ?? "")}"`).join(",")}}`;
}

const escapedHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

const escapedLabel = (text: string): string => escapedHelp(text).replaceAll('"', '\\"');

/** Numbers as the format writes them: those that JavaScript writes otherwise are infinities. */
function numberText(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}
