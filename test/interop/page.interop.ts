import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { launch } from "./browser/chromium.js";
import { cache } from "./support/tool.js";

const home = new Home();
const pictures = join(cache, "page");
let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  mkdirSync(pictures, { recursive: true });
  browser = await launch();
  server = await home.start();
});

afterAll(async () => {
  await browser?.close();
  await home.leave();
});

const sizes = [
  { width: 360, colorScheme: "light" },
  { width: 360, colorScheme: "dark" },
  { width: 1280, colorScheme: "light" },
  { width: 1280, colorScheme: "dark" },
] as const;

/** Writes a message into the box and waits for the last state that is shown. */
async function talk(page: Page, text: string, state: string): Promise<void> {
  await page.fill("#text", text);
  await page.click("#go");
  const last = `[...document.querySelectorAll("#talk .state")].at(-1)?.textContent`;
  // Not by the page's own hand: its policy lets no text be run as code.
  const shown = (): Promise<unknown> => page.evaluate(`document.querySelector("#go").disabled || ${last}`);
  await expect.poll(shown, { timeout: 20_000 }).toBe(state);
}

describe.each(sizes)("the page at $width pixels, $colorScheme", ({ width, colorScheme }) => {
  it("shows the agent, talks to it, and loads nothing from elsewhere", async () => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    const asked: string[] = [];
    const faults: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("console", (message) => void (message.type() === "error" && faults.push(message.text())));
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.goto(server.url);
    expect(await page.title()).not.toBe("");
    await talk(page, "stream 3", "completed");
    expect(await page.textContent("#talk")).toContain("3");
    await talk(page, "ask Which one?", "input required");
    expect(await page.textContent("#talk")).toContain("Which one?");
    await talk(page, "say the red one", "completed");
    // The task that goes on is not shown again as it was before.
    expect((await page.textContent("#talk"))?.match(/Which one\?/g)).toHaveLength(2);
    expect(await page.textContent("#now")).toBe("completed");
    expect(await page.getAttribute("#log", "aria-busy")).toBe("false");
    await page.screenshot({ path: join(pictures, `${width}-${colorScheme}.png`), fullPage: true });
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(asked.filter((url) => !url.startsWith(server.url) && !url.startsWith("data:"))).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });
});

describe("the page's box", () => {
  it("needs no mouse: fields and buttons have the focus one after the other, and Enter sends", async () => {
    const page = await browser.newPage();
    await page.goto(server.url);
    const focused = (): Promise<unknown> =>
      page.evaluate("document.activeElement.id || document.activeElement.textContent");
    const order: unknown[] = [];
    for (let i = 0; i < 5; i++) {
      await page.keyboard.press("Tab");
      order.push(await focused());
    }
    expect(order).toEqual(["text", "Credentials", "go", "Events as they came", "echo hello"]);
    await page.keyboard.press("Enter");
    expect(await focused()).toBe("text");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.textContent("#now"), { timeout: 20_000 }).toBe("completed");
    expect(await page.textContent("#talk")).toContain("hello");
    expect(await focused()).toBe("text");
    await page.close();
  });

  it("cancels a task that goes on", async () => {
    const page = await browser.newPage();
    await page.goto(server.url);
    await page.fill("#text", "wait 60000");
    await page.click("#go");
    await page.waitForSelector("#talk .state");
    await page.click("#cancel");
    await expect.poll(() => page.textContent("#talk li:last-child .state"), { timeout: 20_000 }).toBe("canceled");
    await page.close();
  });
});
