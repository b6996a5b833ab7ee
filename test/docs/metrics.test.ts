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

/** Labels that Prometheus adds. */
const own = ["job", "instance", "le"];

it.each(["prometheus/alerts.yml", "grafana/parley.json"])(
  "deploy/%s asks for metrics and labels that exist",
  (file) => {
    const text = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), "utf8");
    const asked = [...text.matchAll(/\b((?:parley|process|nodejs)_[a-z_]+)(?:\{([^}]*)\})?/g)];
    expect(asked.length).toBeGreaterThan(8);
    for (const [, name = "", selector = ""] of asked) {
      const row = Object.values(metricTable).find((each) => [each.name, `${each.name}_bucket`].includes(name));
      const labels = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = ""]) => label);
      expect([name, row !== undefined]).toEqual([name, true]);
      expect([...own, ...(row?.labels ?? [])]).toEqual(expect.arrayContaining(labels));
    }
  },
);

it.each(["kubernetes/parley.yaml", "kubernetes/replicas.yaml"])(
  "deploy/%s names servers to Prometheus that are not ready, as docs/metrics.md says",
  (file) => {
    const text = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), "utf8");
    const [service = ""] = text.split("\n---\n").filter((each) => /^ {2}name: parley-admin$/m.test(each));
    expect(service).toMatch(/^ {2}clusterIP: None$/m);
    expect(service).toMatch(/^ {2}publishNotReadyAddresses: true$/m);
  },
);

it.each(["compose/compose.yaml", "kubernetes/parley.yaml", "systemd/parley@.service"])(
  "deploy/%s serves metrics on the operator's listener, where Prometheus asks for them",
  (file) => {
    const text = readFileSync(new URL(`../../deploy/${file}`, import.meta.url), "utf8");
    expect(text).toMatch(/PARLEY_ADMIN\b/);
    expect(text).toMatch(/PARLEY_METRICS(?:=|: "|, value: ")true\b/);
  },
);
