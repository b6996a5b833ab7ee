import { readdirSync } from "node:fs";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Answer } from "../push/receiver.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { axeFindings } from "./console/axe.js";
import { type OperatedConsole, openOperated } from "./console/operators.js";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });

/** The operators' pages except those of tasks, in Chromium against a real server (docs/console.md). */

/** Paths at which the receiver answers that the webhook is gone. */
const gone = new Set<string>();
const answer: Answer = ({ path }, response) =>
  gone.has(path) ? response.writeHead(410).end("No such queue: orders") : response.end("thanks");

let browser: Browser;
let opened: OperatedConsole;
let page: Page;
beforeAll(async () => {
  browser = await launch();
  opened = await openOperated(browser, answer);
  page = opened.page;
});
afterAll(async () => {
  expect(opened.foreign).toEqual([]);
  expect(opened.faults).toEqual([]);
  await opened.close();
  await closeWindows(browser);
});

const heading = (name: string): Locator => page.getByRole("heading", { name, level: 1 });
const seen = (locator: Locator): Promise<void> => locator.first().waitFor({ timeout: 30_000 });
const unseen = (locator: Locator): Promise<void> => locator.first().waitFor({ state: "detached", timeout: 30_000 });

describe("the inbox", () => {
  it("shows what waits, oldest first and live, and is answered by the keyboard alone", async () => {
    const first = await opened.send("ask Which **colour** is it?");
    const second = await opened.send("auth");
    await opened.go("operate/inbox");
    await seen(page.getByText("Say when you have authorized the agent."));
    const ids = (): Promise<string[]> =>
      page.evaluate<string[]>(`[...document.querySelectorAll("[data-inbox]")].map((each) => each.dataset.inbox)`);
    expect(await ids()).toEqual([first.id, second.id]);
    // The question is an agent's text with Markdown.
    await seen(page.locator("strong", { hasText: "colour" }));
    const third = await opened.send("ask And now?");
    await expect.poll(ids).toEqual([first.id, second.id, third.id]);
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.keyboard.type("the blue one");
    await page.keyboard.press("Control+Enter");
    await expect.poll(ids).toEqual([second.id, third.id]);
    await seen(page.getByText(`The answer to task ${first.id} was accepted.`));
    // The next task has the focus.
    await page.keyboard.press("Enter");
    await page.keyboard.type("authorized");
    await page.keyboard.press("Control+Enter");
    await expect.poll(ids).toEqual([third.id]);
    const answered = await taskOf(first.id);
    expect(JSON.stringify(answered.history)).toContain("the blue one");
    expect(answered.status.state).toBe("TASK_STATE_COMPLETED");
  });

  it("takes JSON, and says what is wrong with it", async () => {
    await opened.go("operate/inbox");
    const card = page.locator("[data-inbox]").first();
    const id = await card.getAttribute("data-inbox");
    await card.getByRole("button", { name: "Add JSON" }).click();
    const editor = card.getByRole("textbox", { name: "JSON" });
    await editor.click();
    await page.keyboard.type("{blue");
    await card.getByRole("button", { name: "Send the answer" }).click();
    await seen(card.getByText(/This is not JSON/));
    await editor.press("Control+a");
    await page.keyboard.type("[1, 2]");
    await card.getByRole("button", { name: "Send the answer" }).click();
    await unseen(page.locator(`[data-inbox="${id}"]`));
    await seen(page.getByRole("heading", { name: "No task waits" }));
    expect(await axeFindings(page)).toEqual([]);
  });
});

interface Task {
  readonly history: unknown;
  readonly status: { readonly state: string };
}

async function taskOf(id: string): Promise<Task> {
  let task: Task | undefined;
  await expect
    .poll(async () => {
      const headers = { "a2a-version": "1.0" };
      task = (await (await fetch(`${opened.server.url}/tasks/${id}`, { headers })).json()) as Task;
      return task.status.state;
    })
    .toBe("TASK_STATE_COMPLETED");
  return task ?? Promise.reject(new Error("no task"));
}

describe("conversations", () => {
  it("shows one with its tasks in order, their references and the versions of an artifact", async () => {
    const first = await opened.send("echo one\ntwo");
    const { contextId } = first;
    const second = await opened.send("echo one\nthree", { contextId, referenceTaskIds: [first.id] });
    await opened.go("operate/conversations");
    await seen(page.getByRole("link", { name: contextId }));
    expect(await axeFindings(page)).toEqual([]);
    // The newest conversation is first, and Enter opens it.
    await page.getByRole("grid", { name: "Conversations" }).focus();
    await page.keyboard.press("Enter");
    await seen(heading("Conversation"));
    const tasks = page.getByRole("article");
    await expect.poll(() => tasks.count()).toBe(2);
    expect(await tasks.nth(0).getAttribute("aria-label")).toContain(first.id);
    await seen(tasks.nth(1).getByText("Refers to"));
    expect(await tasks.nth(1).getByText("Refers to").getByRole("link").getAttribute("title")).toBe(first.id);
    await seen(tasks.nth(0).getByText("Version 1 of 2"));
    await tasks.nth(1).getByRole("button", { name: "Compare with the earlier version" }).click();
    await seen(tasks.nth(1).getByText("+1", { exact: false }).or(tasks.nth(1).getByText("three")));
    expect(await axeFindings(page)).toEqual([]);
    await tasks.nth(1).getByRole("button", { name: "Earlier version" }).click();
    expect(await page.evaluate<string>("document.activeElement.id")).toContain(first.id);
    // A new task appears.
    const third = await opened.send("ask more?", { contextId });
    await seen(page.getByRole("article", { name: third.id }));
    await tasks.nth(1).getByRole("link", { name: second.id }).click();
    await page.waitForURL(`**/operate/tasks/${second.id}`);
  });

  it("says so where a conversation has no tasks", async () => {
    await opened.go("operate/conversations/nowhere");
    await seen(page.getByRole("heading", { name: "This conversation has no tasks" }));
  });
});

describe("deliveries", () => {
  const row = (id: string): Locator => page.getByRole("row").filter({ hasText: id.slice(0, 13) });
  const dialog = (): Locator => page.getByRole("dialog", { name: "One delivery" });

  it("shows a dead one with its attempts, and redrives it", async () => {
    gone.add("/dead");
    const { id } = await opened.send("echo x", { hook: "dead" });
    await opened.go("operate/deliveries?states=DEAD");
    await seen(page.getByText("the receiver answered 410"));
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("grid", { name: "Deliveries" }).focus();
    await page.keyboard.press("Enter");
    await seen(dialog().getByRole("cell", { name: "No such queue: orders" }));
    await seen(dialog().getByRole("cell", { name: "410", exact: true }));
    expect(page.url()).toContain(encodeURIComponent(`${id}/dead`));
    expect(await axeFindings(page)).toEqual([]);
    gone.clear();
    await dialog().getByRole("button", { name: "Redrive" }).click();
    await seen(dialog().getByText("1 delivery was resumed."));
    await seen(dialog().getByText("Delivered", { exact: true }));
    await expect.poll(() => opened.receiver.of("/dead").length).toBeGreaterThan(1);
    // The list contains only dead deliveries.
    await page.keyboard.press("Escape");
    await seen(page.getByText("No delivery matches the filter."));
  });

  it("sends a test event, resends one and deletes the configuration", async () => {
    const { id } = await opened.send("echo x", { hook: "fine" });
    await opened.go(`operate/deliveries?open=${encodeURIComponent(`${id}/fine`)}`);
    const hits = (): number => opened.receiver.of("/fine").length;
    // Every event of the task has been sent.
    await seen(dialog().getByText("Delivered", { exact: true }));
    const before = hits();
    await dialog().getByRole("button", { name: "Send a test event" }).click();
    await seen(dialog().getByText("The receiver accepted the event (HTTP 200)."));
    await expect.poll(hits).toBe(before + 1);
    await dialog().getByLabel("Generation of the event").fill("2");
    await dialog().getByRole("button", { name: "Resend" }).click();
    await expect.poll(hits).toBe(before + 2);
    gone.add("/fine");
    await dialog().getByRole("button", { name: "Send a test event" }).click();
    await seen(dialog().getByText(/was not delivered: .*410/));
    await dialog().getByRole("button", { name: "Delete" }).click();
    const sure = page.getByRole("dialog", { name: "Delete the push configuration" });
    expect(await axeFindings(page)).toEqual([]);
    await sure.getByRole("button", { name: "Delete" }).click();
    await unseen(dialog());
    await unseen(row(id));
  });

  it("redrives those that were chosen, and all that match", async () => {
    for (const hook of ["a", "b", "c"]) {
      gone.add(`/${hook}`);
      await opened.send("echo x", { hook });
    }
    await opened.go("operate/deliveries?states=DEAD");
    await expect.poll(() => page.getByText("the receiver answered 410").count()).toBe(3);
    gone.clear();
    await page.getByRole("grid", { name: "Deliveries" }).focus();
    await page.keyboard.press("x");
    await page.getByRole("button", { name: "Redrive selected (1)" }).click();
    await seen(page.getByText("1 delivery was resumed."));
    await expect.poll(() => page.getByText("the receiver answered 410").count()).toBe(2);
    await page.getByLabel("Receiver").fill("http://elsewhere.example");
    await seen(page.getByText("No delivery matches the filter."));
    await page.getByLabel("Receiver").fill(`http://127.0.0.1:${opened.receiver.port}`);
    await expect.poll(() => page.getByText("the receiver answered 410").count()).toBe(2);
    await page.getByRole("button", { name: "Redrive all that match" }).click();
    const sure = page.getByRole("dialog", { name: "Redrive dead deliveries" });
    await seen(sure.getByText(String(opened.receiver.port)));
    await sure.getByRole("button", { name: "Redrive" }).click();
    await seen(page.getByText("2 deliveries were resumed."));
    await seen(page.getByText("No delivery matches the filter."));
  });
});

describe("owners", () => {
  it("shows tenants with their usage, and deletes everything of an owner after its name", async () => {
    await opened.send("echo x", { tenant: "red" });
    await opened.send("echo y", { tenant: "red" });
    await opened.go("operate/owners");
    await seen(page.getByRole("region", { name: "Tenants" }).getByText("2 tasks, 0 open"));
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("link", { name: "red" }).click();
    await expect.poll(() => page.getByRole("row").count()).toBe(2);
    await page.getByRole("button", { name: "Delete everything of Anonymous" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete everything of Anonymous" });
    const submit = dialog.getByRole("button", { name: "Delete everything" });
    expect(await submit.isDisabled()).toBe(true);
    expect(await dialog.getByLabel("In the tenant red alone").isChecked()).toBe(true);
    await dialog.getByLabel("Type Anonymous to confirm").fill("anonymous");
    expect(await submit.isDisabled()).toBe(true);
    expect(await axeFindings(page)).toEqual([]);
    await dialog.getByLabel("Type Anonymous to confirm").fill("Anonymous");
    await page.keyboard.press("Enter");
    await seen(dialog.getByText("2 tasks were deleted."));
    await dialog.locator("p").first().waitFor();
    await page.keyboard.press("Escape");
    await seen(page.getByText("The tenant has no owners."));
  });
});

describe("the server's page", () => {
  it("shows the process, and sets the level of its log", async () => {
    await opened.go("operate/server");
    await seen(page.getByText(/^Parley [\d.]+, Node\.js [\d.]+, A2A 1\.0/));
    await seen(page.getByText("Ready", { exact: true }));
    await seen(page.getByText("removed after 7 d 0 h"));
    await page.getByLabel("Log level").selectOption("debug");
    await page.getByRole("button", { name: "Set" }).click();
    await seen(page.locator("dd", { hasText: /^debug$/ }));
    expect(await axeFindings(page)).toEqual([]);
  });

  it("warns of old clients, and draws the metrics as charts or tables", async () => {
    const message = { messageId: "m", kind: "message", role: "user", parts: [{ kind: "text", text: "echo old" }] };
    await fetch(opened.server.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params: { message } }),
    });
    await opened.go("operate/server?tab=metrics");
    await seen(page.getByText(/Clients still speak A2A 0\.3: 1 call /));
    await opened.send("echo x");
    // The second reading contains the first rates.
    const rates = page.getByRole("img", { name: /^Calls a second, by binding\. Now: .*rest [\d.]+\/s/ });
    await seen(rates);
    await seen(page.getByRole("img", { name: /^Duration of calls\. Now: p50 / }));
    await seen(page.getByRole("img", { name: /^Commits a second/ }));
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "Show tables" }).click();
    await seen(page.getByRole("region", { name: "Calls a second, by code, as a table" }).getByRole("cell"));
    expect(page.url()).toContain("view=tables");
    expect(await axeFindings(page)).toEqual([]);
  });

  it("stops reading the metrics while its tab is hidden", async () => {
    let reads = 0;
    page.on("request", (request) => void (request.url().endsWith("/admin/metrics") && reads++));
    await opened.go("operate/server?tab=metrics");
    await expect.poll(() => reads).toBeGreaterThan(0);
    const hide = (state: string): Promise<unknown> =>
      page.evaluate(
        `Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
         document.dispatchEvent(new Event("visibilitychange"))`,
      );
    await hide("hidden");
    const before = reads;
    // Longer than the time between two readings.
    await page.waitForTimeout(6_000);
    expect(reads).toBe(before);
    await hide("visible");
    await expect.poll(() => reads).toBeGreaterThan(before);
  });

  it("lists the limits, those that refused first, by a filter that is in the address", async () => {
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const parts = Array.from({ length: 2_000 }, () => ({ text: "x" }));
    const body = JSON.stringify({ message: { messageId: "m", role: "ROLE_USER", parts } });
    expect((await fetch(`${opened.server.url}/message:send`, { method: "POST", headers, body })).status).toBe(400);
    await opened.go("operate/server?tab=limits");
    const first = page.getByRole("row").nth(1);
    await expect.poll(() => first.textContent()).toMatch(/^maxParts1/);
    expect(await axeFindings(page)).toEqual([]);
    await page.getByLabel("Filter limits").fill("queued");
    await expect.poll(() => page.url()).toContain("limit=queued");
    await expect.poll(() => first.textContent()).toMatch(/^maxQueued/);
  });

  it("lists executions, and creates a backup", async () => {
    await opened.go("operate/server?tab=executions");
    await seen(page.getByRole("heading", { name: "Nothing runs" }));
    const { id } = await opened.send("wait 60000", { returnImmediately: true });
    await seen(page.getByRole("row").filter({ hasText: "Running" }).getByRole("link", { name: id }));
    expect(await axeFindings(page)).toEqual([]);
    await opened.go("operate/server");
    await page.getByRole("button", { name: "Create a backup" }).click();
    const dialog = page.getByRole("dialog", { name: "Create a backup" });
    await dialog.getByLabel("Name of the file").fill("copy.db");
    await page.keyboard.press("Enter");
    await seen(dialog.getByText(/copy\.db: [\d.]+ kB/));
    expect(readdirSync(opened.folder)).toContain("copy.db");
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press("Escape");
  });
});

describe("the audit page", () => {
  it("shows who was refused what, what operators changed, and what the server did", async () => {
    const headers = { "a2a-version": "1.0" };
    expect((await fetch(`${opened.server.url}/tasks/nowhere`, { headers })).status).toBe(404);
    await opened.go("operate/audit?tab=refused");
    const denied = page.getByRole("row").filter({ hasText: "access.denied" });
    await seen(denied);
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("grid", { name: "Audit" }).focus();
    await page.keyboard.press("Enter");
    const record = page.getByRole("dialog", { name: "Audit record" });
    await seen(record.getByText("GetTask"));
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Operators" }).click();
    await seen(page.getByRole("row").filter({ hasText: "AnswerTask" }).filter({ hasText: "console" }));
    await page.getByRole("navigation", { name: "Audit" }).getByRole("link", { name: "Server" }).click();
    await seen(page.getByRole("row").filter({ hasText: "server.started" }));
    await unseen(page.getByRole("row").filter({ hasText: "AnswerTask" }));
  });
});

describe("an operator with the role read", () => {
  it("sees everything, and gets the reason where something would change", async () => {
    const { id } = await opened.send("ask Still there?", { hook: "read" });
    const reader = await opened.openAs("read");
    const visit = (path: string): Promise<unknown> => reader.goto(new URL(`operate/${path}`, opened.url).href);
    const disabled = async (name: string | RegExp): Promise<void> => {
      const button = reader.getByRole("button", { name }).first();
      await button.waitFor();
      expect([await button.getAttribute("aria-disabled"), await button.getAttribute("title")]).toEqual([
        "true",
        "Your role is read: this needs the role write.",
      ]);
      await button.click({ force: true });
      expect(
        await reader
          .getByRole("alertdialog")
          .or(reader.getByRole("dialog", { name: /^Delete/ }))
          .count(),
      ).toBe(0);
    };
    await visit("inbox");
    await seen(reader.locator(`[data-inbox="${id}"]`));
    await disabled(/^Send the answer/);
    expect(await axeFindings(reader)).toEqual([]);
    await visit(`deliveries?open=${encodeURIComponent(`${id}/read`)}`);
    for (const name of [/^Send a test event/, /^Resend/, /^Delete/]) await disabled(name);
    expect(await axeFindings(reader)).toEqual([]);
    await visit("owners");
    await disabled(/^Delete everything of/);
    await visit("server");
    for (const name of [/^Set/, /^Create a backup/, /^Drain/]) await disabled(name);
    expect(await axeFindings(reader)).toEqual([]);
    await reader.context().close();
  });
});

const paths = [
  "inbox",
  "conversations",
  "deliveries",
  "owners",
  "server",
  "server?tab=metrics",
  "server?tab=limits",
  "server?tab=executions",
  "audit",
];

describe.each(["light", "dark"] as const)("the pages of operators at 360 px, %s", (colorScheme) => {
  it("scroll down only, and have no findings", async () => {
    const narrow = await opened.openAs("write", { viewport: { width: 360, height: 740 }, colorScheme });
    for (const path of paths) {
      await narrow.goto(new URL(`operate/${path}`, opened.url).href);
      await narrow.locator("#main h1").waitFor();
      await narrow.locator("main [aria-label=Loading]").first().waitFor({ state: "detached" });
      expect(await narrow.evaluate("document.documentElement.scrollWidth <= innerWidth"), path).toBe(true);
      expect(await axeFindings(narrow), path).toEqual([]);
    }
    await narrow.context().close();
  });
});

describe("the drain", () => {
  it("asks before, and is shown", async () => {
    await opened.go("operate/server");
    await page.getByRole("button", { name: "Drain" }).click();
    const sure = page.getByRole("dialog", { name: "Drain this process" });
    expect(await axeFindings(page)).toEqual([]);
    await sure.getByRole("button", { name: "Drain" }).click();
    await seen(page.getByText(/The process is draining\./));
    await seen(page.getByText("Draining", { exact: true }));
    await seen(page.getByText("The server refuses new calls, because it is going to end."));
  });
});
