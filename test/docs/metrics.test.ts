import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { metricTable } from "../../src/telemetry/metric-table.js";

it("docs/metrics.md has every metric with its kind, labels and meaning, and no other", () => {
  const text = readFileSync(new URL("../../docs/metrics.md", import.meta.url), "utf8");
  const rows = text.split("\n").filter((line) => /^\| `(?:parley|process|nodejs)_/.test(line));
  const cells = rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const expected = Object.values(metricTable).map(({ name, kind, labels = [], help }) => [
    `\`${name}\``,
    kind,
    labels.map((label) => `\`${label}\``).join(", "),
    help,
  ]);
  expect(cells).toEqual(expected);
});
