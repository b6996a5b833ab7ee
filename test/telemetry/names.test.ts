import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { metricTable } from "../../src/telemetry/metric-table.js";
import * as names from "../../src/telemetry/names.js";

const src = new URL("../../src/", import.meta.url);

/** The files that declare names. */
const declaring = ["telemetry/names.ts", "telemetry/metric-table.ts"];

/** Literals that begin like a name of telemetry, and what they are instead. */
const others: Readonly<Record<string, string>> = {
  "parley.admin.v1.": "a package of Protobuf",
  "parley.log.v1.": "a package of Protobuf",
  "a2a.v1.": "a package of Protobuf",
  "parley.db": "a file",
  "server.log": "a file",
  "parley.sentBy": "metadata of a message",
  "error.code is ": "a sentence about a body",
  "parley_${": "a statement or a channel of PostgreSQL",
  "server.started": "an event of the audit log",
  "server.stopped": "an event of the audit log",
};

/** Beginning of a name up to its first separator. A metric of the conventions has its own in Prometheus. */
const prefixOf = (name: string): string => /^[^._]+(?:_ai)?[._]/.exec(name)?.[0] ?? name;

it("no file besides names.ts and metric-table.ts has a literal with the prefix of an attribute or a metric", () => {
  const { rpc, http, jsonRpc, a2a, parley } = names;
  const attributes = [rpc, http, jsonRpc, a2a, parley].flatMap((group) => Object.values<string>(group));
  const metrics = Object.values(metricTable).flatMap(({ name, otel }) => [name, otel]);
  const prefixes = [...new Set([...attributes, ...metrics].map(prefixOf))];
  expect(prefixes).toEqual(expect.arrayContaining(["rpc.", "gen_ai.", "parley.", "parley_", "process."]));
  const literal = new RegExp(`["'\`](${prefixes.map((prefix) => prefix.replace(".", "\\.")).join("|")})[^"'\`]*`, "g");
  const isOther = (text: string): boolean => Object.keys(others).some((other) => text.slice(1).startsWith(other));
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  expect(files).toEqual(expect.arrayContaining(declaring));
  const found = files
    .filter((file) => !declaring.includes(file))
    .flatMap((file) => {
      const lines = readFileSync(new URL(file, src), "utf8").split("\n");
      const code = lines.filter((line) => !/^\s*(?:\/?\*|\/\/)/.test(line)).join("\n");
      return [...code.matchAll(literal)].map(([text]) => ({ file, text })).filter(({ text }) => !isOther(text));
    });
  expect(found).toEqual([]);
});
