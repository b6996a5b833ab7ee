import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import * as names from "../../src/telemetry/names.js";

const src = new URL("../../src/", import.meta.url);

/** The file that declares names. */
const declaring = "telemetry/names.ts";

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

const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));

const textOf = (file: string): string => readFileSync(new URL(file, src), "utf8");

it("no file besides names.ts has a literal with the prefix of an attribute or a metric", () => {
  const { rpc, http, jsonRpc, a2a, parley, metricNames } = names;
  const attributes = [rpc, http, jsonRpc, a2a, parley].flatMap((group) => Object.values<string>(group));
  const metrics = Object.values(metricNames).flatMap(({ name, otel }) => [name, otel]);
  const prefixes = [...new Set([...attributes, ...metrics].map(prefixOf))];
  expect(prefixes).toEqual(expect.arrayContaining(["rpc.", "gen_ai.", "parley.", "parley_", "process."]));
  const literal = new RegExp(`["'\`](${prefixes.map((prefix) => prefix.replace(".", "\\.")).join("|")})[^"'\`]*`, "g");
  const isOther = (text: string): boolean => Object.keys(others).some((other) => text.slice(1).startsWith(other));
  expect(files).toContain(declaring);
  const found = files
    .filter((file) => file !== declaring)
    .flatMap((file) => {
      const lines = textOf(file).split("\n");
      const code = lines.filter((line) => !/^\s*(?:\/?\*|\/\/)/.test(line)).join("\n");
      return [...code.matchAll(literal)].map(([text]) => ({ file, text })).filter(({ text }) => !isOther(text));
    });
  expect(found).toEqual([]);
});

it("each span that is begun has a name of names.ts, or that of a method", () => {
  const name = "(?:method\\.name|spanNames\\.\\w+|`\\$\\{spanNames\\.\\w+\\} \\$\\{[\\w.]+\\}`)";
  // A choice between two names is allowed. `beginAfter` has two parameters before the name.
  const begins = new RegExp(
    `\\.(?:begin|child|startSpan|beginAfter)\\((?:[^?\\n]+ \\? ${name} : |\\w+, \\w+, )?${name}[,)]`,
    "g",
  );
  const count = (code: string, expression: RegExp): number => [...code.matchAll(expression)].length;
  const tracing = files.filter((file) => /\/tracer\.js";$/m.test(textOf(file)) && file !== "telemetry/tracer.ts");
  const unnamed = tracing.filter((file) => {
    const code = textOf(file);
    return count(code, begins) < count(code, /\.(?:begin|child|startSpan|beginAfter)\(/g);
  });
  expect(unnamed).toEqual([]);
  expect(tracing.filter((file) => count(textOf(file), begins) > 0)).toHaveLength(5);
  // All others begin spans by the tracer.
  expect(files.filter((file) => textOf(file).includes(".startSpan("))).toEqual(["telemetry/tracer.ts"]);
});
