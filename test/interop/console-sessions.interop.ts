import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { operatorFlags } from "./console/operator.js";
import { serveStalled } from "./console/stalled.js";
import { boxOf, lastOf, PATIENCE, say, talkTo, tell } from "./console/talk.js";
import { useConsoles, workerAgent } from "./console/use-console.js";

const used = useConsoles({ agent: workerAgent, flags: operatorFlags() }, /ERR_|Failed to load|401/);

const login = (page: Page) => page.getByRole("heading", { name: "Open the console" });
const states = (page: Page): Promise<string[]> => page.getByRole("status").allTextContents();

async function secondTab(path: string): Promise<Page> {
  const { page, url } = used.opened;
  const tab = await page.context().newPage();
  await tab.goto(new URL(path, url).href);
  return tab;
}

describe("two tabs of a session", () => {
  it("says in each tab that the session has ended, and that one has begun", async () => {
    const { page, go } = used.opened;
    await go("operate/tasks");
    const talk = await secondTab(`talk?agent=${encodeURIComponent(used.opened.server.url)}`);
    await boxOf(talk).waitFor(PATIENCE);
    await expect.poll(() => states(page), PATIENCE).toContain("Live");
    const other = await secondTab("agents");
    await other.getByRole("button", { name: "Log out" }).click();
    for (const tab of [other, page, talk]) await login(tab).waitFor(PATIENCE);
    expect(await states(page)).not.toContain("Live");
  });

  it("says so too if the server alone knows that the session has ended", async () => {
    const { page, go } = used.opened;
    await go("operate/tasks");
    await expect.poll(() => states(page), PATIENCE).toContain("Live");
    await page.evaluate(`fetch(new URL("api/session", document.baseURI), { method: "DELETE" })`);
    await login(page).waitFor(PATIENCE);
  });

  it("keeps a conversation that both show whole", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await tell(page, "hello");
    const tab = await secondTab(page.url());
    await boxOf(tab).waitFor(PATIENCE);
    await expect.poll(() => tab.locator("article").count(), PATIENCE).toBeGreaterThan(0);
    await tell(tab, "hello from the other tab");
    await tell(page, "hello again");
    await page.reload();
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("Completed");
    await boxOf(page).fill("still here");
  });
});

const everywhere = [
  ...["agents", "talk", "recording", "receiver", "operate/tasks", "operate/inbox", "operate/conversations"],
  ...["operate/deliveries", "operate/owners", "operate/server", "operate/audit"],
];

describe("a page that is left at once", () => {
  it("follows back and forward through every page", async () => {
    const { page, go, faults } = used.opened;
    await go("agents");
    const open = (path: string): Promise<void> =>
      page.evaluate(`document.querySelector('nav a[href$="/${path}"]').click()`) as Promise<void>;
    await page.locator('nav a[href$="/operate/tasks"]').waitFor(PATIENCE);
    let opened = 0;
    for (const path of everywhere) {
      if (await page.evaluate(`document.querySelector('nav a[href$="/${path}"]') === null`)) continue;
      await open(path);
      opened++;
    }
    // One more step would leave the console.
    const steps = 8;
    expect(opened).toBeGreaterThan(steps);
    for (let round = 0; round < 3; round++) {
      await page.evaluate(`(async () => {
        for (let at = 0; at < ${steps}; at++) { history.back(); await new Promise((next) => setTimeout(next, 15)); }
        for (let at = 0; at < ${steps}; at++) { history.forward(); await new Promise((next) => setTimeout(next, 15)); }
      })()`);
    }
    await page.getByRole("heading", { level: 1 }).first().waitFor(PATIENCE);
    expect(await page.getByRole("button", { name: "Try again" }).count()).toBe(0);
    expect(faults.filter((fault) => !/ERR_ABORTED|Failed to load/.test(fault))).toEqual([]);
    await go("agents");
    await page.getByRole("heading", { name: "Agents" }).first().waitFor(PATIENCE);
  });
});

describe("agents that do not answer", () => {
  it("leave the page free for others, however many there are", async () => {
    const { page, go, server } = used.opened;
    const stalled = await serveStalled();
    try {
      await go("agents");
      const list = Array.from({ length: 12 }, (_, at) => ({ name: `stalled ${at}`, url: `${stalled.url}/${at}` }));
      await page.evaluate(`localStorage.setItem("parley-console-agents", ${JSON.stringify(JSON.stringify(list))})`);
      await page.reload();
      await expect.poll(() => stalled.asked(), PATIENCE).toBeGreaterThan(0);
      const read = await page.evaluate(`(async () => {
        const signal = AbortSignal.timeout(5000);
        return (await fetch(new URL("api/session", document.baseURI), { signal })).status;
      })()`);
      expect(read).toBe(200);
      await page.getByRole("link", { name: "Conversations" }).first().click();
      await talkTo(used.opened, server.url);
      await say(page, "hello");
      await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("Completed");
    } finally {
      await stalled.close();
    }
  });
});
