import { describe, expect, it } from "vitest";
import { flags } from "../../src/cli/flags.js";
import { defaultLimits } from "../../src/core/limits.js";
import { parseDuration, parseSize } from "../../src/server/option-kinds.js";
import { defaultOptions } from "../../src/server/option-table.js";
import { docstrings, limitsPage, optionsPage } from "./options-page.js";

/** Parses a default in a docstring: `8 MiB`, `10 seconds`, `4,096`, `15,000`, `127.0.0.1`. */
function valueSaid(said: string): unknown {
  const text = said
    .replace(/ seconds?$/, "s")
    .replace(/ hours?$/, "h")
    .replaceAll(",", "")
    .replaceAll("`", "");
  for (const read of [parseSize, parseDuration]) {
    try {
      if (/[a-z]$/i.test(text)) return read(text);
    } catch {
      // The text is not a value of this kind.
    }
  }
  if (["true", "false"].includes(text)) return text === "true";
  return /^\d+$/.test(text) ? Number(text) : text;
}

const saidIn = (docstring: string): unknown => {
  const said = /Default:? (`[^`]*`|[\d.,]*\d(?: (?:MiB|GiB|KiB|seconds?|hours?))?|true|false)/.exec(docstring)?.[1];
  return said === undefined ? undefined : valueSaid(said);
};

describe("the pages of options and limits", () => {
  it("are what the tables and docstrings say", async () => {
    await expect(optionsPage()).toMatchFileSnapshot("../../docs/options.md");
    await expect(limitsPage()).toMatchFileSnapshot("../../docs/limit-list.md");
  });
});

describe("the docstrings", () => {
  it("name the default of every limit as it is", () => {
    const texts = docstrings("src/core/limits.ts");
    const said = Object.fromEntries([...texts].map(([name, text]) => [name, saidIn(text)]));
    // The value is one byte below 2 GiB, which no unit expresses exactly.
    expect(said).toEqual({ ...defaultLimits, maxGrpcAnswerBytes: 2 ** 31 });
  });

  it("name the defaults of the options as they are", () => {
    const texts = docstrings("src/server/options.ts");
    for (const [name, value] of Object.entries(defaultOptions)) {
      const said = saidIn(texts.get(name) ?? "");
      if (said !== undefined) expect([name, said]).toEqual([name, value]);
    }
    expect(["port", "grpcPort", "leaseMs", "maxRestarts"].map((name) => saidIn(texts.get(name) ?? ""))).toEqual([
      8080, 50051, 15_000, 3,
    ]);
  });
});

describe("flags", () => {
  it("and variables have names of their own", () => {
    for (const names of [flags.map(({ flag }) => flag), flags.map(({ variable }) => variable)]) {
      expect(new Set(names).size).toBe(names.length);
    }
    expect(flags.length).toBeGreaterThan(50);
  });
});
