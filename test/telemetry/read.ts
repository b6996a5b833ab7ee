import { metricsText } from "../../src/telemetry/index.js";

/** The values of the text by series, such as `parley_calls_open{method="SendMessage"}`. */
export function seriesIn(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
}

/** A server's series at one moment. */
export const seriesOf = async (server: object): Promise<Map<string, number>> => seriesIn(await metricsText(server));

/** Sum of the series whose name and labels all match. */
export function sumOf(series: ReadonlyMap<string, number>, name: string, labels: Record<string, string> = {}): number {
  let sum = 0;
  for (const [key, value] of series) {
    const matches = Object.entries(labels).every(([label, wanted]) => key.includes(`${label}="${wanted}"`));
    if ((key === name || key.startsWith(`${name}{`)) && matches) sum += value;
  }
  return sum;
}
