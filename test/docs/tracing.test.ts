import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { a2a, http, jsonRpc, parley, rpc } from "../../src/telemetry/names.js";

it("docs/tracing.md has every attribute of spans once, and no other", () => {
  const text = readFileSync(new URL("../../docs/tracing.md", import.meta.url), "utf8");
  const [, section = ""] = text.split("\n## Attributes\n");
  const rows =
    section
      .split("\n## ")[0]
      ?.split("\n")
      .filter((line) => line.startsWith("| `")) ?? [];
  const documented = rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  );
  const { binding: _onlyInMetrics, ...ofSpans } = parley;
  const declared = [rpc, http, jsonRpc, a2a, ofSpans].flatMap((group) => Object.values<string>(group));
  expect(documented.toSorted()).toEqual(declared.toSorted());
});
