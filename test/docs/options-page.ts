import { readFileSync } from "node:fs";
import { commandTable, defaultCommandOptions } from "../../src/cli/command-options.js";
import { type Flag, flags } from "../../src/cli/flags.js";
import { defaultLimits } from "../../src/core/limits.js";
import { defaultOptions, limitTable, type OptionRow, optionTable } from "../../src/server/option-table.js";

const intro = `# Options

<!-- Made of src/server/option-table.ts, src/cli/command-options.ts and the docstrings: \`npx vitest run test/docs -u\`. -->

\`createServer\` and \`parley serve\` take all of these, \`createA2A\` all but those that open ports. In code, times are numbers of
milliseconds (\`…Ms\`) or seconds (\`…Seconds\`) and sizes are bytes; on the command line and in the environment both have their
unit: \`500ms\`, \`10s\`, \`15m\`, \`2h\`, \`7d\`; \`64KiB\`, \`8MiB\`, \`1GiB\`. Switches are \`true\` or \`false\` in the environment.

What \`parley serve\` is told on its command line wins over the environment, both win over what the agent's module exports, and that
over the defaults. A module exports options of \`createServer\` by their names (\`export const authenticator = …\`), or together:
\`export const options = { authenticator, limits: { maxParts: 50 } }\`. An option that is not known is refused; a variable
\`PARLEY_…\` that is not known is named in the log; each with the name that may have been meant. A module's other exports are ignored,
but one that is named nearly like \`authenticator\`, \`ownerOf\`, \`interceptors\`, \`allowedHosts\` or \`trustProxy\`, or like the agent's
\`security\`, ends the start: the server would be open.

A key that does not belong to the certificate, swapped files and a chain in the wrong order are refused at the start. A certificate that has
expired, or is not valid yet, is named in the log and served: a clock may be wrong, and a client may have agreed to it.
`;

/** The page of all options, as it has to stand in docs/options.md. */
export function optionsPage(): string {
  const options = new Map([...docstrings("src/card/agents.ts"), ...docstrings("src/server/options.ts")]);
  const limits = docstrings("src/core/limits.ts");
  const command = docstrings("src/cli/command-options.ts");
  return [
    intro,
    "## Options",
    "",
    ...table(optionTable, defaultOptions, { of: "server", texts: options }),
    "",
    "## Of `parley serve` alone",
    "",
    ...table(commandTable, defaultCommandOptions, { of: "command", texts: command }),
    "",
    "## Limits",
    "",
    "In code: `limits: { maxParts: 50 }`. Each is there because something from outside is counted by it. Where the heap",
    "is small (`--max-old-space-size`, a container), the defaults of `maxArrivingBytes`, `maxOpenRequestBytes` and `maxOutgoingBytes` are at most a quarter of it, those of",
    "`maxQueuedBytes`, `maxOutgoingBytesPerCaller`, `maxBatchBytes` and `maxOutgoingPushBytes` an eighth, and those of `maxOutgoingBytesPerConnection` and `maxPageBytes` a sixteenth.",
    "",
    ...table(limitTable, defaultLimits, { of: "limits", texts: limits }),
    "",
  ].join("\n");
}

/** The docstrings of the fields in a file, each on one line: of fields of one name those of the first. */
export function docstrings(path: string): ReadonlyMap<string, string> {
  const source = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const found = source.matchAll(/^ {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2}readonly (\w+)\??:/gm);
  return new Map(
    [...found].reverse().map(([, text = "", name = ""]) => [name, text.replace(/\n? +\* ?/g, " ").trim()]),
  );
}

interface Source {
  readonly of: Flag["of"];
  readonly texts: ReadonlyMap<string, string>;
}

function table(rows: object, defaults: object, { of, texts }: Source): string[] {
  const cells = (Object.entries(rows) as [string, OptionRow][]).map(([name, row]) => {
    const flag = flags.find((each) => each.of === of && each.name === name);
    const value = (defaults as Record<string, unknown>)[name];
    const text = texts.get(name);
    if (text === undefined) throw new Error(`${name} has no docstring`);
    const places =
      of === "command" ? ["serve"] : row.needsPorts === true ? ["createServer"] : ["createServer", "createA2A"];
    return [
      `\`${name}\``,
      [...places, ...(of !== "command" && flag !== undefined ? ["serve"] : [])].join(", "),
      row.otherwise ?? (value === undefined ? "" : row.kind.show(value)),
      flag === undefined ? "" : `\`${`${flag.flag} ${row.kind.placeholder}`.trim()}\``,
      flag === undefined ? "" : `\`${flag.variable}\``,
      row.kind.unit ?? "",
      text.replaceAll("|", "\\|"),
    ];
  });
  return aligned([["Option", "Where", "Default", "Flag", "Variable", "Unit", "What it is for"], ...cells]);
}

/** Lines of a table whose columns stand below each other, as the formatter has them. */
function aligned([head = [], ...rows]: string[][]): string[] {
  const widths = head.map((_, i) => Math.max(3, ...[head, ...rows].map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  return [head, widths.map((width) => "-".repeat(width)), ...rows].map(line);
}
