import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { root } from "./installed.js";

/** Limits of the compressed sizes, in bytes. */
const MOST = { first: 150_000, all: 1_000_000 };

const folder = join(root, "dist", "console");
const assets = readdirSync(join(folder, "assets"));
const page = readFileSync(join(folder, "index.html"), "utf8");
const sizeOf = (name: string): number => readFileSync(join(folder, "assets", `${name}.br`)).length;
const textOf = (name: string): string => readFileSync(join(folder, "assets", name), "utf8");
const isCode = (name: string): boolean => /\.(?:js|css)$/.test(name);

describe("the built console", () => {
  it("loads little at first, and little in all", () => {
    const first = [...page.matchAll(/assets\/([\w.-]+\.(?:js|css))/g)].map(([, name = ""]) => name);
    // Imports of the first script are loaded with it.
    for (const name of first) {
      for (const [, also = ""] of textOf(name).matchAll(/(?:^|;)import[^;]{0,2000}?["']\.\/([\w.-]+\.js)["']/g)) {
        if (!first.includes(also)) first.push(also);
      }
    }
    expect(first.length).toBeGreaterThanOrEqual(2);
    const sum = (names: readonly string[]): number => names.reduce((total, name) => total + sizeOf(name), page.length);
    expect(sum(first)).toBeLessThan(MOST.first);
    const all = assets.filter(isCode);
    expect(all.length).toBeGreaterThan(first.length);
    expect(sum(all)).toBeLessThan(MOST.all);
  });

  it("has a compressed copy beside each script and style sheet", () => {
    const unlike = assets
      .filter((name) => isCode(name))
      .filter((name) => {
        const compressed = brotliDecompressSync(readFileSync(join(folder, "assets", `${name}.br`)));
        return !compressed.equals(readFileSync(join(folder, "assets", name)));
      });
    expect(unlike).toEqual([]);
  });

  it("loads nothing from elsewhere, and has the places that the server fills in", () => {
    expect(page).toContain('<base href="/"');
    expect(page).toContain("__CSP_NONCE__");
    expect(page.match(/(?:src|href)="(?!\.\/|\/")[^"]*"/g)).toBeNull();
    const importing = assets.filter(
      (name) => isCode(name) && /\bimport\(?["'`]https?:|url\(["']?https?:/.test(textOf(name)),
    );
    expect(importing).toEqual([]);
  });

  it("needs no eval, which its policy forbids", () => {
    const evaluating = assets.filter((name) => name.endsWith(".js") && /\beval\(|new Function\(/.test(textOf(name)));
    expect(evaluating).toEqual([]);
  });

  it("says by which licenses its libraries may be used", () => {
    const licenses = readFileSync(join(folder, "licenses.md"), "utf8");
    for (const name of ["react-dom", "@tanstack/react-router", "@base-ui/react"]) expect(licenses).toContain(name);
  });
});
