import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { type OpenedConsole, openConsole } from "./console/open.js";
import { operatorFlags, send } from "./console/operator.js";
import { seedLongTask, seedTasks } from "./console/seed.js";
import { cache } from "./support/tool.js";

const agent = join(root, "test/fixtures/agents/worker.mjs");

/**
 * `PARLEY_SIZES=all` uses 100,000 tasks and a log of 1,000,000 entries, otherwise a fifth of that. The pages read the
 * same number of rows for both.
 */
const part = process.env.PARLEY_SIZES === "all" ? 1 : 5;
const TASKS = 100_000 / part;
const ENTRIES = 1_000_000 / part;
/** An entry in the middle, and the next one. */
const [middle, next] = [ENTRIES / 2 + 4_321, ENTRIES / 2 + 4_322];

const written = (count: number): string => count.toLocaleString("en");

let browser: Browser;
let opened: OpenedConsole;
let long = "";
let shorter = "";

beforeAll(async () => {
  browser = await launch();
  opened = await openConsole(browser, {
    ...{ agent, flags: operatorFlags() },
    prepare: async (store) => {
      await seedTasks(store, TASKS);
      long = await seedLongTask(store, ENTRIES);
      shorter = await seedLongTask(store, 30_000);
    },
  });
}, 300_000);

afterAll(async () => {
  await opened?.close();
  await closeWindows(browser);
});

/** Figures of a page during some work, for people to compare. Tests do not check the times. */
interface Figures {
  readonly frames: number;
  readonly median: number;
  readonly p95: number;
  readonly longTasks: number;
  readonly longest: number;
  /** Maximum number of rows at one time. */
  readonly rows: number;
}

/** Watches the frames of a page that scrolls by `scroll` pixels per frame. */
async function watch(page: Page, ms: number, scroll: number): Promise<Figures> {
  return page.evaluate<Figures>(
    `(async ({ ms, scroll }) => {
      const grid = document.querySelector("[data-rows]");
      const gaps = [], long = [];
      const watch = new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) long.push(duration); });
      watch.observe({ type: "longtask" });
      let rows = 0;
      const begin = performance.now();
      let last = begin;
      while (performance.now() - begin < ms) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        gaps.push(performance.now() - last);
        last = performance.now();
        grid.scrollTop += scroll;
        rows = Math.max(rows, grid.querySelectorAll("[role=row]").length);
      }
      watch.disconnect();
      gaps.sort((one, other) => one - other);
      const at = (part) => Math.round(gaps[Math.floor(gaps.length * part)] * 10) / 10;
      return { frames: gaps.length, median: at(0.5), p95: at(0.95), longTasks: long.length,
        longest: Math.round(Math.max(0, ...long)), rows };
    })(${JSON.stringify({ ms, scroll })})`,
  );
}

/** Writes the figures to a file. */
function note(name: string, figures: object): void {
  mkdirSync(join(cache, "console"), { recursive: true });
  writeFileSync(join(cache, "console", `${name}.json`), `${JSON.stringify(figures)}\n`);
}

/** Counts calls of a method of the service. */
function countCalls(page: Page, method: string): () => number {
  let calls = 0;
  page.on("request", (request) => void (request.url().endsWith(`/${method}`) && calls++));
  return () => calls;
}

describe(`a list of ${written(TASKS)} tasks`, { timeout: 180_000 }, () => {
  it("reads pages as it is scrolled, and has rows only for what is in view", async () => {
    const { page, go } = opened;
    const calls = countCalls(page, "ListTasks");
    await go("operate/tasks");
    await page.locator("[data-rows] [data-index='5']").waitFor();
    const first = await watch(page, 1_500, 300);
    expect(first.rows).toBeLessThan(80);
    const end = `(() => { const grid = document.querySelector("[data-rows]"); grid.scrollTop = grid.scrollHeight;
      return document.querySelector("main").innerText.match(/[\\d,]+ tasks?( loaded)?/)?.[0]; })()`;
    const all = new RegExp(`^${written(TASKS).replace(/.$/, "\\d")} tasks$`);
    await expect.poll(() => page.evaluate(end), { timeout: 150_000, interval: 20 }).toMatch(all);
    // Pages of 500 tasks, the first page, and the calls of the stream's start.
    expect(calls()).toBeLessThan(TASKS / 500 + 8);
    await page.evaluate(`document.querySelector("[data-rows]").scrollTop = 0`);
    const whole = await watch(page, 1_500, 900);
    expect(whole.rows).toBeLessThan(80);
    note("scrolled", { first, whole, calls: calls() });
  });

  it("goes on while 200 events a second arrive", async () => {
    const { page, server, go } = opened;
    const calls = countCalls(page, "ListTasks");
    await go("operate/tasks");
    await page.locator("[data-rows] [data-index='5']").waitFor();
    await page.waitForTimeout(500);
    const begun = calls();
    // Each agent emits 5 events in 25 ms. The server sends the changes of each task ten times a second, 200 changes in
    // all.
    for (let index = 0; index < 20; index++) await send(server.url, "emit 4000 5");
    const live = await watch(page, 4_000, 0);
    expect(live.rows).toBeLessThan(80);
    expect(calls()).toBe(begun);
    const updates = await page.locator("[data-rows]").getByText("Working").count();
    note("live", { ...live, working: updates });
    expect(updates).toBeGreaterThan(5);
  });
});

describe(`a log of ${written(ENTRIES)} entries`, { timeout: 120_000 }, () => {
  it("jumps to a position and to a time, and reads only what is in view", async () => {
    const { page, go } = opened;
    const calls = countCalls(page, "ListEntries");
    await go(`operate/tasks/${long}?tab=log`);
    await page
      .getByText(`${written(ENTRIES)} entries`)
      .first()
      .waitFor();
    await page.getByRole("row").getByText("Client: A long one").waitFor();
    await page.getByLabel("Position").fill(`${middle}`);
    await page.keyboard.press("Enter");
    await page.getByRole("row", { selected: true }).getByText(`line ${middle}`).waitFor();
    await page.getByRole("region", { name: `Entry ${written(middle)}` }).waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("j");
    await page.getByRole("row", { selected: true }).getByText(`line ${next}`).waitFor();
    await page.keyboard.press("End");
    await page.getByRole("row", { selected: true }).getByText("Completed").waitFor();
    expect(calls()).toBeLessThan(80);
    await page.getByRole("button", { name: "Close" }).click();
    await page.keyboard.press("Home");
    const scrolled = await watch(page, 1_500, 500);
    expect(scrolled.rows).toBeLessThan(90);
    note("log", { ...scrolled, calls: calls() });
  });

  it("is put together when somebody asks for it", async () => {
    const { page, go } = opened;
    await go(`operate/tasks/${long}?tab=content`);
    await page.getByText(`The task has ${written(ENTRIES)} entries.`).waitFor();
    await go(`operate/tasks/${shorter}?tab=content`);
    await page.getByText("The task has 30,000 entries.").waitFor();
    expect(await page.getByText("part 1", { exact: true }).count()).toBe(0);
    await page.getByRole("button", { name: "Read the whole task" }).click();
    await page.getByText("part 1", { exact: true }).first().waitFor();
  });

  it("is drawn and replayed from a bounded part", async () => {
    const { page, go } = opened;
    const calls = countCalls(page, "ListEntries");
    await go(`operate/tasks/${long}`);
    await page.getByText("From the first 5,000 entries of").waitFor();
    expect(calls()).toBeLessThan(80);
    await go(`operate/tasks/${long}?tab=replay&at=1500`);
    await page.getByRole("heading", { name: "part 1", exact: true }).waitFor();
    expect(calls()).toBeLessThan(120);
  });
});
