import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bodyOf } from "../push-receiver/world.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { buildConsole } from "./console/build.js";
import { type HostileAgent, serveHostile } from "./console/hostile.js";
import { type OpenedConsole, openConsole } from "./console/open.js";
import { post, receiverOf } from "./console/receiver.js";
import { boxOf, fitsIn, lastOf, say, talkTo } from "./console/talk.js";

const PATIENCE = { timeout: 15_000 };

/** A character that reverses the direction of the text after it. */
const TURN = "\u202E";
/** A name that cannot be broken. */
const long = "W".repeat(500_000);

let browser: Browser;
let opened: OpenedConsole;
let agents: Readonly<Record<string, HostileAgent>>;

beforeAll(async () => {
  buildConsole();
  browser = await launch();
  opened = await openConsole(browser, { viewport: { width: 360, height: 740 } });
  agents = { long: await serveHostile(long), turned: await serveHostile(`${TURN}gnp.exe`) };
  await opened.go("agents");
  const list = Object.entries(agents).map(([kind, { url }]) => ({
    url,
    name: kind === "long" ? long : `${TURN}gnp.exe`,
  }));
  await opened.page.evaluate(`localStorage.setItem("parley-console-agents", ${JSON.stringify(JSON.stringify(list))})`);
});

afterAll(async () => {
  await opened?.close();
  for (const agent of Object.values(agents)) await agent.close();
  await closeWindows(browser);
});

/**
 * Returns the texts that reverse text outside their own element. Code is not checked, because it is shown unchanged.
 */
const turning = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (!node.data.includes("${TURN}")) continue;
      let at = node.parentElement;
      const look = () => getComputedStyle(at);
      while (look().display === "inline" && !/isolate|plaintext/.test(look().unicodeBidi)) at = at.parentElement;
      if (!/^(STYLE|SCRIPT|PRE)$/.test(at.tagName) && at.textContent.trim() !== node.data.trim())
        found.push(at.tagName + "." + at.className + ": " + at.textContent.slice(0, 80));
    }
    return found;
  })()`);

async function expectCalm(what: string): Promise<void> {
  const { page } = opened;
  expect([what, await fitsIn(page), await turning(page)]).toEqual([what, true, []]);
}

describe.each(["long", "turned"])("a name that is %s", (kind) => {
  it("stays in its place in the lists of agents", async () => {
    const { page, go } = opened;
    await go("agents");
    await expect.poll(() => page.getByText("Reachable").count(), PATIENCE).toBeGreaterThan(1);
    await expectCalm("agents");
    await go("talk");
    await page.getByRole("link", { name: "Add an agent" }).waitFor(PATIENCE);
    await expectCalm("choose");
  });

  it.each(["card", "interfaces", "login", "checks", "bindings", "exchanges", "json"])(
    "stays in its place in the tab %s",
    async (tab) => {
      const { page, go } = opened;
      await go(`agent?url=${encodeURIComponent(agents[kind]?.url ?? "")}&tab=${tab}`);
      await page.getByRole("heading", { level: 1 }).waitFor(PATIENCE);
      await page.getByText("Reachable").waitFor(PATIENCE);
      await page.waitForLoadState("networkidle");
      await expectCalm(tab);
    },
  );

  it("stays in its place in a conversation, with ids of its kind", async () => {
    const { page, go } = opened;
    await talkTo(opened, agents[kind]?.url);
    await say(page, kind === "long" ? "id6" : "id5");
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("Completed");
    await boxOf(page).fill("still here");
    await expectCalm("conversation");
    const address = page.url();
    await page.goto(`${address}&panel=raw`);
    await page.getByRole("heading", { level: 1 }).first().waitFor(PATIENCE);
    await expectCalm("raw");
    await go("talk");
    await page.getByRole("heading", { name: "Conversations" }).first().waitFor(PATIENCE);
    await expectCalm("conversations");
    await page.goto(address.replace("/talk?", "/recording?"));
    await page.getByRole("heading", { name: "Replay a conversation" }).waitFor(PATIENCE);
    await expectCalm("recording");
  });

  it("stays in its place in the receiver", async () => {
    const { page, go } = opened;
    const own = await receiverOf(page);
    const id = kind === "long" ? long : `${TURN}gnp.exe`;
    expect(await post(own, {}, bodyOf(id, id.slice(0, 1_000)))).toBe(204);
    expect(await post(own, { "x-name": kind === "long" ? "W".repeat(8_000) : "x" }, bodyOf(id, "hello"))).toBe(204);
    await go(`receiver?agent=${encodeURIComponent(agents[kind]?.url ?? "")}`);
    const rows = page.getByRole("row");
    await expect.poll(() => rows.count(), PATIENCE).toBeGreaterThan(1);
    await expectCalm("receiver");
    const { last } = await page.evaluate<{ last: number }>(
      `fetch(new URL("api/receiver", document.baseURI), { method: "POST" }).then((answer) => answer.json())`,
    );
    await go(`receiver?open=${last}`);
    await page.getByRole("dialog").waitFor(PATIENCE);
    await page.getByRole("dialog").getByText("hello").first().waitFor(PATIENCE);
    await expectCalm("notification");
    await page.keyboard.press("Escape");
  });
});
