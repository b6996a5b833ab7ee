import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeWindows, launch } from "./browser/chromium.js";
import { buildConsole } from "./console/build.js";
import { type HostileAgent, hostile, serveHostile } from "./console/hostile.js";
import { type OpenedConsole, openConsole } from "./console/open.js";
import { boxOf, fitsIn, isHarmed, lastOf, PATIENCE, say, talkTo } from "./console/talk.js";

let browser: Browser;
let opened: OpenedConsole;
let agent: HostileAgent;

beforeAll(async () => {
  buildConsole();
  browser = await launch();
  opened = await openConsole(browser);
  agent = await serveHostile();
});

afterAll(async () => {
  await opened?.close();
  await agent?.close();
  await closeWindows(browser);
});

describe("a page that shows what an agent sends to harm it", () => {
  it.each(Object.keys(hostile))("goes on after %s", async (name) => {
    const { page, foreign } = opened;
    await talkTo(opened, agent.url);
    await say(page, name);
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toMatch(/Completed|Input required/);
    // The page still works and shows no error page.
    await boxOf(page).fill("still here");
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Hostile");
    expect(await page.evaluate("document.querySelectorAll('*').length")).toBeLessThan(15_000);
    expect(await isHarmed(page)).toBe(false);
    expect(await page.evaluate("'harmed' in {}")).toBe(false);
    expect(await fitsIn(page)).toBe(true);
    expect(foreign).toEqual([]);
  });

  it("says what it does not show, and shows more of what is long", async () => {
    const { page } = opened;
    const shows = async (name: string, text: string | RegExp): Promise<void> => {
      await talkTo(opened, agent.url);
      await say(page, name);
      await lastOf(page).getByText(text).first().waitFor(PATIENCE);
    };
    await shows("prototype", "This part cannot be shown.");
    await shows("doubling", /It draws too much/);
    await shows("loop", /^This form cannot be shown/);
    await shows("history", /^Show earlier ones/);
    await shows("images", /^Show more/);
    const before = await lastOf(page).locator("figure figure").count();
    await lastOf(page)
      .getByText(/^Show more/)
      .click();
    await expect.poll(() => lastOf(page).locator("figure figure").count(), PATIENCE).toBeGreaterThan(before);
  });
});

describe("a page whose address or storage is broken", () => {
  it("says that an address is none", async () => {
    const { page, go } = opened;
    await go("talk?agent=http%3A%2F%2F");
    await page.getByText("The agent cannot be reached.").waitFor(PATIENCE);
  });

  it.each(["nothing", "agentName", "title", "at", "opened", "generations", "turns"])(
    "leaves out a stored conversation only if it is broken: %s",
    async (member) => {
      const { page, go } = opened;
      const kept = { id: "kept", agent: agent.url, agentName: "Hostile", title: "kept", at: 1, opened: [], version: 1 };
      const all = { ...kept, generations: {}, turns: [], ...(member !== "nothing" && { [member]: null }) };
      await go("agents");
      await page.evaluate(`localStorage.setItem("parley-console-talk-kept", ${JSON.stringify(JSON.stringify(all))})`);
      await go("talk?conversation=kept");
      await page.getByRole("heading", { name: "Conversations" }).first().waitFor(PATIENCE);
      const isOpen = member === "nothing";
      await (isOpen ? boxOf(page) : page.getByRole("link", { name: "Add an agent" })).waitFor(PATIENCE);
      expect(await boxOf(page).count()).toBe(isOpen ? 1 : 0);
      expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
      await page.evaluate(`localStorage.removeItem("parley-console-talk-kept")`);
    },
  );
});
