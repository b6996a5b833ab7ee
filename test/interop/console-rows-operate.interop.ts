import { join } from "node:path";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../e2e/support/build.js";
import { Receiver } from "../push/receiver.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { axeFindings } from "./console/axe.js";
import { buildConsole } from "./console/build.js";
import { linkOf, type OpenedConsole, openConsole } from "./console/open.js";
import { operatorFlags, send } from "./console/operator.js";
import { PATIENCE } from "./console/talk.js";

/** Small promises of the operators' pages, each of which no larger test covers. */

let browser: Browser;
let opened: OpenedConsole;
let page: Page;
let receiver: Receiver;

beforeAll(async () => {
  buildConsole();
  browser = await launch();
  receiver = await Receiver.start((_, response) => response.writeHead(503).end("later"));
  const push = ["--push", "--push-allow-http", "--push-allow", "127.0.0.1", "--push-ports", String(receiver.port)];
  opened = await openConsole(browser, {
    agent: join(root, "test/fixtures/agents/worker.mjs"),
    flags: [...operatorFlags(), ...push],
  });
  page = opened.page;
});

afterAll(async () => {
  expect(opened.foreign).toEqual([]);
  expect(opened.faults).toEqual([]);
  await opened?.close();
  await closeWindows(browser);
  await receiver?.stop();
});

const rowOf = (id: string): Locator => page.getByRole("row").filter({ hasText: id });
const seen = (locator: Locator): Promise<void> => locator.first().waitFor(PATIENCE);

async function taskOf(id: string, tenant = ""): Promise<{ contextId: string; status: { state: string } }> {
  const answer = await fetch(`${opened.server.url}${tenant}/tasks/${id}`, { headers: { "a2a-version": "1.0" } });
  return (await answer.json()) as { contextId: string; status: { state: string } };
}

/** Sends a message, and waits for a state of its task. */
async function sent(text: string, state = "COMPLETED", message: object = {}): Promise<string> {
  const id = await send(opened.server.url, text, message);
  await expect.poll(async () => (await taskOf(id)).status.state, PATIENCE).toBe(`TASK_STATE_${state}`);
  return id;
}

describe("the list of tasks", () => {
  it("is filtered by conversation, tenant, agent, owner and time, alone and live", async () => {
    const one = await sent("one");
    const two = await sent("two");
    const red = await send(`${opened.server.url}/red`, "three");
    const { contextId } = await taskOf(one);
    await opened.go("operate/tasks");
    for (const id of [one, two, red]) await seen(rowOf(id));
    await page.getByRole("button", { name: "More filters" }).click();
    const field = (name: string): Locator => page.getByRole("dialog").getByLabel(new RegExp(`^${name}`));
    /** Checks the shown ones of these tasks for a filter. */
    const shown = async (name: string, value: string, ids: readonly string[]): Promise<void> => {
      await field(name).fill(value);
      const now = async (): Promise<string[]> => {
        const counts = await Promise.all([one, two, red].map((id) => rowOf(id).count()));
        return [one, two, red].filter((_, at) => counts[at] !== 0);
      };
      await expect.poll(now, { ...PATIENCE, message: name }).toEqual(ids);
      await field(name).fill("");
      await expect.poll(now, PATIENCE).toEqual([one, two, red]);
    };
    await shown("Conversation", contextId, [one]);
    await shown("Tenant", "red", [red]);
    await shown("Tenant", '""', [one, two]);
    await shown("Agent", "Worker", [one, two, red]);
    await shown("Agent", "Another", []);
    await shown("Owner", "nobody", []);
    await shown("Status from", "2031-01-01T00:00:00", []);
    await shown("Status before", "2001-01-01T00:00:00", []);
    await field("Tenant").fill("red");
    await expect.poll(() => rowOf(one).count(), PATIENCE).toBe(0);
    expect(new URL(page.url()).searchParams.get("tenant")).toBe("red");
    // Changes of other tasks stay hidden, and new matching tasks appear.
    const later = await send(opened.server.url, "four");
    const more = await send(`${opened.server.url}/red`, "five");
    await seen(rowOf(more));
    expect(await rowOf(later).count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Remove the filter Tenant" }).click();
    await seen(rowOf(later));
  });

  it("finds a text in artifacts as well as in messages", async () => {
    const inArtifact = await sent("steps", "INPUT_REQUIRED");
    const inMessage = await sent("a new line of thought");
    const neither = await sent("nothing");
    await opened.go("operate/tasks?text=new%20line");
    for (const id of [inArtifact, inMessage]) await seen(rowOf(id));
    expect(await rowOf(neither).count()).toBe(0);
  });
});

describe("the log of a task", () => {
  it("has the time of each entry and who it is of, with the JSON beside it", async () => {
    const id = await sent("steps", "INPUT_REQUIRED");
    await opened.go(`operate/tasks/${id}?tab=log`);
    const rows = page.getByRole("grid", { name: "Entries of the log" }).getByRole("row");
    await seen(rows.filter({ hasText: "Client: steps" }));
    const texts = (await rows.allTextContents()).slice(1);
    expect(texts.length).toBeGreaterThan(5);
    for (const text of texts) expect(text).toMatch(/\d\d:\d\d:\d\d\.\d{3}/);
    await rows.filter({ hasText: "Input required" }).click();
    const detail = page.getByRole("region", { name: /^Entry \d+$/ });
    const closed = detail.locator("button[aria-expanded=false]");
    await seen(closed);
    while ((await closed.count()) > 0) await closed.first().click();
    await seen(detail.getByText("Is the draft good?"));
    await seen(detail.getByText("TASK_STATE_INPUT_REQUIRED"));
  });

  it("has its times in the zone of the viewer", async () => {
    const id = await sent("steps", "INPUT_REQUIRED");
    const hours: number[] = [];
    const titles: string[] = [];
    for (const timezoneId of ["Asia/Kolkata", "America/New_York"]) {
      const context = await browser.newContext({ timezoneId, locale: "en-GB", viewport: { width: 1280, height: 900 } });
      const viewer = await context.newPage();
      await viewer.goto(linkOf(opened.server));
      await viewer.locator("#main h1").waitFor(PATIENCE);
      await viewer.goto(new URL(`operate/tasks/${id}?tab=log&entry=1`, opened.url).href);
      const row = viewer.getByRole("row").filter({ hasText: "Client: steps" });
      await row.waitFor(PATIENCE);
      const [, hour, minute] = /(\d\d):(\d\d):\d\d\.\d{3}/.exec((await row.textContent()) ?? "") ?? [];
      hours.push(Number(hour) * 60 + Number(minute));
      titles.push((await viewer.getByRole("region", { name: "Entry 1" }).locator("dd").first().textContent()) ?? "");
      await context.close();
    }
    const [india = 0, york = 0] = hours;
    // The difference is nine and a half hours in summer, and one hour more in winter.
    expect([570, 630]).toContain((india - york + 2 * 24 * 60) % (24 * 60));
    expect(titles[0]).toMatch(/GMT\+5:30|IST/);
    expect(titles[1]).toMatch(/GMT-[45]|E[SD]T/);
  });
});

describe("the delegations of a task", () => {
  it("have the agent, the state and the times of each sub-task", async () => {
    const { url } = opened.server;
    const id = await sent(`delegate ${url} delegate ${url} hello`);
    await opened.go(`operate/tasks/${id}?tab=delegations`);
    const nodes = page.locator("li", { has: page.getByRole("link", { name: "Open the task" }) });
    await expect.poll(() => nodes.count(), PATIENCE).toBe(2);
    for (const node of await nodes.all()) {
      const text = await node.textContent();
      expect(text).toContain("Completed");
      expect(text).toContain(url);
      expect(text).toMatch(/[0-9a-f-]{36}/);
      expect(text).toMatch(/\d\d:\d\d:\d\d\.\d{3}( [AP]M)? · [\d.]+ m?s/);
    }
  });
});

describe("a delivery that fails for now", () => {
  it("has its next try, the time of each attempt and what the receiver answered", async () => {
    const id = await send(opened.server.url, "wait");
    const answer = await fetch(`${opened.server.url}/tasks/${id}/pushNotificationConfigs`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0" },
      body: JSON.stringify({ id: "hook", url: receiver.url("/hook") }),
    });
    expect(answer.status).toBe(200);
    await fetch(`${opened.server.url}/tasks/${id}:cancel`, { method: "POST", headers: { "a2a-version": "1.0" } });
    await opened.go(`operate/deliveries?open=${encodeURIComponent(`${id}/hook`)}`);
    const dialog = page.getByRole("dialog", { name: "One delivery" });
    await seen(dialog.getByText("Due", { exact: true }));
    await seen(dialog.getByRole("cell", { name: "503" }));
    await seen(dialog.getByText("later"));
    const next = dialog
      .locator("dt", { hasText: "Next try" })
      .locator("xpath=following-sibling::dd[1]")
      .locator("time");
    await seen(next);
    const rows = dialog.getByRole("row");
    expect(await rows.nth(1).textContent()).toMatch(/\d m?s/);
    expect(await rows.nth(1).locator("time").count()).toBeGreaterThan(0);
  });
});

describe("the lists of conversations and of the server", () => {
  it("have the tasks of each conversation, and which are open", async () => {
    const first = await sent("hello");
    const { contextId } = await taskOf(first);
    await send(opened.server.url, "wait", { contextId });
    await opened.go("operate/conversations");
    const row = rowOf(contextId);
    await seen(row);
    const heads = await page.getByRole("columnheader").allTextContents();
    const cell = (name: string): Promise<string | null> =>
      row.getByRole("gridcell").nth(heads.indexOf(name)).textContent();
    await expect.poll(() => cell("Tasks"), PATIENCE).toBe("2");
    expect(await cell("Open")).toBe("1");
    expect(await cell("Owner")).toBe("Anonymous");
  });

  it("have the store, the calls and streams that are open, and what runs and waits", async () => {
    await send(opened.server.url, "wait");
    await opened.go("operate/server");
    const fact = (name: string): Locator =>
      page.locator("dt", { hasText: new RegExp(`^${name}$`) }).locator("xpath=following-sibling::dd[1]");
    await seen(fact("Store"));
    expect(await fact("Store").textContent()).toMatch(/sqlite.*[\d.]+ [kM]B/i);
    expect(await fact("Executions").textContent()).toMatch(/[1-9]\d* running, 0 waiting/);
    expect(await fact("Calls").textContent()).toMatch(/\d+ open, of which \d+ streams?; \d+ calls have ended/);
    expect(await axeFindings(page)).toEqual([]);
  });
});
