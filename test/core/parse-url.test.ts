import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseUrl } from "../../src/core/net.js";
import { importGraph } from "../support/import-graph.js";

describe("parseUrl()", () => {
  it("parses a name that is not ASCII after many calls", () => {
    for (let time = 0; time < 100_000; time++) parseUrl("https://a.example");
    expect(parseUrl("https://m\u00fcnchen.example")?.hostname).toBe("xn--mnchen-3ya.example");
  });

  it("resolves a relative URL", () => {
    expect(parseUrl("/b?c", "https://a.example/x")?.href).toBe("https://a.example/b?c");
  });

  it.each(["", "a.example", "https://", "http://[::1", "https://a.example:0x"])("returns undefined for %j", (text) => {
    expect(parseUrl(text)).toBeUndefined();
  });

  it("takes the place of URL.canParse in the sources", () => {
    const { files } = importGraph(
      "src/index.ts",
      "src/client/index.ts",
      "src/cli/main.ts",
      "src/push-receiver/index.ts",
    );
    const others = [...files].filter((file) => /URL\.canParse\(/.test(readFileSync(file, "utf8")));
    // The script of the page runs in browsers.
    expect(others.map((file) => file.replace(/^.*\/src\//, "src/"))).toEqual(["src/page/script.ts"]);
  });
});
