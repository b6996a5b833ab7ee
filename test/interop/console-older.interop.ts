import { copyFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { type OpenedConsole, openConsole } from "./console/open.js";
import { lastOf, PATIENCE, reaches, say, talkTo, tell } from "./console/talk.js";
import { type Started, started } from "./support/servers.js";
import { installed, succeed } from "./support/tool.js";

const folder = join(root, "test", "interop", "servers", "older");

let browser: Browser;
let opened: OpenedConsole;
let older: Started;

beforeAll(async () => {
  const into = await installed({
    name: "a2a-js-sdk-0.3.14",
    needs: "npm, and access to its registry",
    install: async (place) => {
      copyFileSync(join(folder, "package.json"), join(place, "package.json"));
      await succeed("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], { cwd: place });
    },
  });
  const program = join(into, "v03.mjs");
  copyFileSync(join(folder, "v03.mjs"), program);
  older = await started(process.execPath, [program]);
  browser = await launch();
  opened = await openConsole(browser);
});

afterAll(async () => {
  await opened?.close();
  await closeWindows(browser);
  await older?.stop();
});

describe("an agent of A2A 0.3, served by @a2a-js/sdk at another origin", () => {
  it("is talked to over each binding of the browser, through the relay", async () => {
    const { page, foreign, faults } = opened;
    await talkTo(opened, older.url);
    const menu = page.getByRole("combobox", { name: "Binding and version" });
    await menu.waitFor(PATIENCE);
    const ways = await menu.locator("option").allTextContents();
    expect(ways.toSorted()).toEqual(["HTTP+JSON 0.3", "JSONRPC 0.3"]);
    for (const way of ways) {
      await menu.selectOption(way);
      await tell(page, "stream 3");
      expect(await lastOf(page).locator("figure").count()).toBeGreaterThan(0);
      await tell(page, "ask", "Input required");
      await say(page, "blue");
      await reaches(page, "Completed");
    }
    expect(foreign).toEqual([]);
    expect(faults).toEqual([]);
  });
});
