import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { axeFindings } from "./console/axe.js";
import { openConsole } from "./console/open.js";
import { boxOf, fitsIn, lastOf, PATIENCE, reaches, say, talkTo, tell } from "./console/talk.js";
import { contentAgent, useConsole } from "./console/use-console.js";

const used = useConsole({ agent: contentAgent });

describe("a conversation", () => {
  it("streams the parts of an artifact as they come", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await say(page, "count 40 50");
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("1 2 3");
    expect(await lastOf(page).textContent()).not.toContain("39 40");
    await reaches(page, "Completed");
    expect(await lastOf(page).textContent()).toContain("38 39 40");
    expect(await axeFindings(page)).toEqual([]);
  });

  it("shows a question, and sends the next message as its answer", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await tell(page, "oldform", "Input required");
    await page.getByRole("combobox", { name: "Send to" }).waitFor();
    await say(page, "the red one");
    await reaches(page, "Completed");
    expect(await lastOf(page).textContent()).toContain("You sent the red one");
    expect(await page.getByRole("combobox", { name: "Send to" }).count()).toBe(0);
  });

  it("sends a new task while another one waits, if told to", async () => {
    const { page } = used.opened;
    await talkTo(used.opened, undefined, "&beside=none");
    await tell(page, "oldform", "Input required");
    await page.getByRole("combobox", { name: "Send to" }).selectOption("new");
    await tell(page, "table");
  });

  it("goes on after a reload in the middle, with all that was said", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await say(page, "count 60 50");
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("1 2 3 4 5");
    // The page stores its state each second.
    await page.waitForFunction(`/"generations":\\{"[^"]+":[1-9]/.test(Object.values(localStorage).join())`);
    await page.reload();
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("The page was left or loaded again");
    await reaches(page, "Completed");
    const text = (await lastOf(page).textContent()) ?? "";
    expect(text).toContain(Array.from({ length: 60 }, (_, at) => at + 1).join(" "));
    expect(text).toContain("count 60 50");
    expect(await page.evaluate("JSON.stringify(localStorage)")).not.toContain("Bearer");
  });

  it("resumes exactly after its connection was cut on purpose, and tells how", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await say(page, "count 60 50");
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("1 2 3 4 5");
    await page.getByRole("button", { name: "Cut the stream" }).click();
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("The connection was cut");
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toMatch(/Resumed exactly after generation \d+/);
    await reaches(page, "Completed");
    const text = (await lastOf(page).textContent()) ?? "";
    expect(text).toContain(Array.from({ length: 60 }, (_, at) => at + 1).join(" "));
    const [, at, events, now] = /at generation (\d+).* (\d+) events since.*now at generation (\d+)/.exec(text) ?? [];
    expect(Number(at) + Number(events)).toBe(Number(now));
    expect(await axeFindings(page)).toEqual([]);
  });

  it("cancels a task, and sends its message again as a new one", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await say(page, "count 500 50");
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("1 2");
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await reaches(page, "Canceled");
    await page.getByRole("button", { name: "Send again as a new task" }).last().click();
    await expect.poll(() => page.getByText("count 500 50").count(), PATIENCE).toBeGreaterThan(1);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await reaches(page, "Canceled");
  });

  it("stops waiting, and continues to wait", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await say(page, "count 40 50");
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("1 2");
    await page.getByRole("button", { name: "Stop waiting" }).click();
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("The task goes on at the agent.");
    await page.getByRole("button", { name: "Continue to wait" }).click();
    await reaches(page, "Completed");
    expect(await lastOf(page).textContent()).toContain("39 40");
  });

  it("refers to earlier tasks", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    await tell(page, "table");
    await page.getByRole("button", { name: "Refer to this task" }).last().click();
    await tell(page, "back");
    expect(await lastOf(page).textContent()).toContain("1 parts, 1 references.");
  });

  it("opens the task that the address names, with the others of its conversation", async () => {
    const { page, server } = used.opened;
    await talkTo(used.opened);
    await tell(page, "table");
    await tell(page, "code 80");
    const id = await page.locator("article button[title]").first().getAttribute("title");
    await page.evaluate("localStorage.clear()");
    await page.goto(`${used.opened.url}talk?agent=${encodeURIComponent(server.url)}&task=${id}`);
    await expect.poll(() => page.locator("article").count(), PATIENCE).toBeGreaterThan(1);
    await reaches(page, "Completed");
    expect(await page.textContent("[role=log]")).toContain("Ann");
    expect(await page.textContent("[role=log]")).toContain("createServer");
  });
});

describe("the ways to speak", () => {
  it("are those of the card that a browser can speak, and each works", async () => {
    const { page } = used.opened;
    await talkTo(used.opened);
    const menu = page.getByRole("combobox", { name: "Binding and version" });
    await menu.waitFor(PATIENCE);
    const ways = await menu.locator("option").allTextContents();
    expect(ways).toEqual(expect.arrayContaining(["JSONRPC 1.0", "HTTP+JSON 1.0", "CONNECT 1.0", "GRPC-WEB 1.0"]));
    for (const way of ways) {
      await menu.selectOption(way);
      await tell(page, `code ${ways.indexOf(way)}`);
      expect(await lastOf(page).textContent()).toContain(`listen(${ways.indexOf(way)})`);
    }
  });
});

describe("two conversations", () => {
  it("run beside each other, and are both in the list", async () => {
    const other = await openConsole(used.browser, { agent: contentAgent, viewport: { width: 1600, height: 900 } });
    const { page } = other;
    await talkTo(other);
    await say(page, "count 60 50");
    await page.getByRole("link", { name: "New conversation" }).click();
    await page
      .getByRole("link", { name: /Content/ })
      .last()
      .click();
    await boxOf(page).waitFor(PATIENCE);
    await page.getByRole("link", { name: "Open beside" }).click();
    await boxOf(page, 1).waitFor(PATIENCE);
    await say(page, "count 60 50", 0);
    const logs = page.locator("[role=log]");
    for (const at of [0, 1]) await expect.poll(() => logs.nth(at).textContent(), PATIENCE).toMatch(/1 2 3/);
    await expect
      .poll(() => page.locator("article footer").allTextContents(), PATIENCE)
      .toEqual([expect.stringContaining("Completed"), expect.stringContaining("Completed")]);
    expect(await page.getByRole("navigation", { name: "Conversations of this browser" }).locator("li").count()).toBe(2);
    expect(await axeFindings(page)).toEqual([]);
    expect(other.faults).toEqual([]);
    await other.close();
  });
});

const looks = [360, 768, 1440].flatMap((width) =>
  (["light", "dark"] as const).map((colorScheme) => ({ width, colorScheme })),
);

describe("conversations at 360, 768 and 1440 pixels, in light and dark", () => {
  it("fit in", async () => {
    const other = await openConsole(used.browser, { agent: contentAgent });
    const { page } = other;
    await other.go("talk");
    await page
      .getByRole("link", { name: /Content/ })
      .first()
      .waitFor(PATIENCE);
    await expectEachFits(page);
    await talkTo(other);
    for (const text of ["markdown", "table", "code", "svg"]) await tell(page, text);
    await tell(page, "form", "Input required");
    await page.getByLabel("City").waitFor(PATIENCE);
    await expectEachFits(page);
    expect(other.faults).toEqual([]);
    expect(other.foreign).toEqual([]);
    await other.close();
  });

  async function expectEachFits(page: Page): Promise<void> {
    for (const { width, colorScheme } of looks) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme });
      expect(await fitsIn(page), `${width} ${colorScheme}`).toBe(true);
      expect(await axeFindings(page), `${width} ${colorScheme}`).toEqual([]);
    }
  }
});

describe("the place of things", () => {
  it("scrolls the messages, not the page, and keeps the head beside the exchanges", async () => {
    const { page } = used.opened;
    await page.setViewportSize({ width: 1440, height: 600 });
    await talkTo(used.opened);
    for (const _ of Array.from({ length: 4 })) await tell(page, "table");
    const toggle = page.getByRole("button", { name: "Raw exchanges" });
    await toggle.click();
    await say(page, "count 200 50");
    const cut = page.getByRole("button", { name: "Cut the stream" });
    await cut.waitFor(PATIENCE);
    const exchanges = page.getByRole("region", { name: "Exchanges" });
    const [button, panel] = [await toggle.boundingBox(), await exchanges.boundingBox()];
    expect((button?.x ?? 0) + (button?.width ?? 0)).toBeLessThanOrEqual(panel?.x ?? 0);
    expect(await page.evaluate("document.documentElement.scrollHeight - innerHeight")).toBe(0);
    await cut.click();
    await exchanges
      .getByRole("button", { name: /^SendStreamingMessage/ })
      .first()
      .click();
    await exchanges.getByText("The page ended the call.").waitFor(PATIENCE);
    await page.getByRole("button", { name: "Cancel", exact: true }).click();
    await reaches(page, "Canceled");
  });

  it("shows the tabs of an agent without a bar to scroll them", async () => {
    const { page, go, server } = used.opened;
    await go(`agent?url=${encodeURIComponent(server.url)}`);
    const tabs = page.getByRole("navigation", { name: "Parts of the agent's page" });
    await tabs.waitFor(PATIENCE);
    const hidden = "(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)";
    expect(await page.evaluate(`${hidden}(document.querySelector("nav[aria-label^='Parts of the agent']"))`)).toBe(0);
  });
});

describe("the keyboard alone", () => {
  it("begins a conversation, fills in a form and sends it", async () => {
    const { page } = used.opened;
    await used.opened.go("talk");
    const agentLink = page.getByRole("link", { name: /Content/ }).last();
    await agentLink.waitFor(PATIENCE);
    await agentLink.focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate("document.activeElement.ariaLabel"), PATIENCE).toBe("Message");
    await page.keyboard.type("form");
    await page.keyboard.press("Enter");
    await page.getByLabel("City").waitFor(PATIENCE);
    for (let at = 0; at < 60; at++) {
      if ((await page.evaluate("document.activeElement.labels?.[0]?.textContent.trim()")) === "City") break;
      await page.keyboard.press("Shift+Tab");
    }
    await page.keyboard.press("Tab");
    await page.keyboard.type("05022027");
    for (let at = 0; at < 20; at++) {
      if ((await page.evaluate("document.activeElement.tagName")) === "SELECT") break;
      await page.keyboard.press("Tab");
    }
    await page.keyboard.type("s");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    for (let at = 0; at < 20; at++) {
      if ((await page.evaluate("document.activeElement.textContent")) === "Send") break;
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await reaches(page, "Completed");
    const text = await lastOf(page).textContent();
    for (const part of ["2027-05-02", "second", "true"]) expect(text).toContain(part);
  });
});
