import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pixelmatch from "pixelmatch";
import type { BrowserContext, Page } from "playwright-core";
import { PNG } from "pngjs";
import { cache } from "../support/tool.js";

const require = createRequire(import.meta.url);
const kept = fileURLToPath(new URL("looks", import.meta.url));
const seen = join(cache, "console");
for (const folder of [kept, seen]) mkdirSync(folder, { recursive: true });

/** Share of the pixels that may differ, because versions of Chromium smooth letters differently. */
const MAX_DIFFERENT = 0.01;

/** True to store the new pictures: `PARLEY_LOOKS=keep`. */
const keeps = process.env.PARLEY_LOOKS === "keep";

/**
 * Gives pages one font, so that they look the same on all machines. The script contains the font's bytes. A route that
 * answers for a URL would disable the browser's cache, and each page would load and compile the whole app again.
 */
export async function withOneFont(context: BrowserContext): Promise<void> {
  const face = (weight: number): string => {
    const bytes = readFileSync(require.resolve(`@fontsource/inter/files/inter-latin-${weight}-normal.woff2`));
    return `document.fonts.add(new FontFace("Inter", Uint8Array.from(atob("${bytes.toString("base64")}"), (c) => c.charCodeAt(0)), { weight: "${weight}" }));`;
  };
  const fonts = ":root{--mono:Inter!important}html{font-family:Inter!important}";
  // The page's policy does not limit style sheets constructed by a script.
  await context.addInitScript(`{
    ${face(400)}
    ${face(600)}
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(${JSON.stringify(fonts)});
    document.adoptedStyleSheets.push(sheet);
  }`);
}

/**
 * Resolves when nothing has changed or moved for 200 ms. Resolves after 500 ms in any case, because a page may change
 * all the time.
 */
const still = `new Promise((resolve) => {
  const begin = performance.now();
  let changed = begin;
  const observer = new MutationObserver(() => (changed = performance.now()));
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  const moves = ({ playState, effect }) => playState === "running" && effect.getComputedTiming().endTime !== Infinity;
  const look = () => {
    const now = performance.now();
    if (document.getAnimations().some(moves)) changed = now;
    if (now - changed < 200 && now - begin < 500) return setTimeout(look, 20);
    observer.disconnect();
    resolve();
  };
  look();
})`;

/** Waits until a complete page has taken on another size or colour scheme. */
export async function becomesStill(page: Page): Promise<void> {
  await page.evaluate(still);
}

/**
 * Replaces texts that differ between runs: ids, times, ports, durations and sizes. Stores the originals for `unsettle`.
 */
const settle = `{
  const settled = [];
  const rules = [
    [/hooks\\/[\\w-]{43}/g, "hooks/id"],
    [/--push-ports \\d+/g, "--push-ports 8080"],
    [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "01a2-id"],
    [/…?\\b(?=[0-9a-f]*\\d)[0-9a-f]{6,16}\\b…?/g, "01a2-id"],
    [/(127\\.0\\.0\\.1|localhost):\\d+/g, "localhost:8080"],
    [/\\d[\\d.,]* (ms|s|min|h|B|kB|MB|GB)\\b/g, "1 $1"],
    [/\\d{1,2}:\\d{2}:\\d{2}([.,]\\d+)?( [AP]M)?/g, "12:00:00"],
  ];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const before = node.data;
    if (node.parentElement.closest("time")) node.data = "now";
    else for (const [from, to] of rules) node.data = node.data.replace(from, to);
    if (node.data !== before) settled.push([node, before, node.data]);
  }
  window.settled = settled;
}`;

/** Undoes `settle` for texts that the page has not changed since. */
const unsettle = `for (const [node, before, after] of window.settled) if (node.data === after) node.data = before;`;

/** Compares a page with its stored picture. Returns the difference in words, or undefined. */
export async function lookOf(page: Page, name: string): Promise<string | undefined> {
  await page.evaluate(settle);
  const bytes = await page.screenshot({ animations: "disabled", caret: "hide" });
  await page.evaluate(unsettle);
  const file = `${name}.png`;
  writeFileSync(join(seen, file), bytes);
  const before = join(kept, file);
  if (keeps) {
    writeFileSync(before, bytes);
    return undefined;
  }
  if (!existsSync(before))
    return `${name}: no picture is kept; look at ${join(seen, file)}, and run with PARLEY_LOOKS=keep`;
  const old = readFileSync(before);
  if (old.equals(bytes)) return undefined;
  const [was, is] = [PNG.sync.read(old), PNG.sync.read(bytes)];
  if (was.width !== is.width || was.height !== is.height) return `${name}: another size`;
  const difference = new PNG({ width: is.width, height: is.height });
  const count = pixelmatch(was.data, is.data, difference.data, is.width, is.height, { threshold: 0.2 });
  if (count <= MAX_DIFFERENT * is.width * is.height) return undefined;
  writeFileSync(join(seen, `${name}.difference.png`), PNG.sync.write(difference));
  return `${name}: ${count} pixels differ; see ${join(seen, `${name}.difference.png`)}`;
}
