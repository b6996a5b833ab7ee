import { describe, expect, it } from "vitest";
import { openDatabase } from "../support/database.js";
import { axeFindings } from "./console/axe.js";
import { linkOf, openConsole } from "./console/open.js";
import { operatorFlags, send } from "./console/operator.js";
import { useConsoles, workerAgent } from "./console/use-console.js";

/** Allows a webhook on this machine. */
const push = ["--push", "--push-allow-http", "--push-allow", "127.0.0.1", "--push-ports", "9"];

const used = useConsoles(
  { agent: workerAgent, flags: [...operatorFlags(), ...push], isKept: true },
  /40[0-4]|net::ERR/,
);

/** Opens a view of a task. Waits until the page shows the state. */
async function show(id: string, state: string, tab = ""): Promise<void> {
  await used.opened.go(`operate/tasks/${id}${tab === "" ? "" : `?tab=${tab}`}`);
  await used.opened.page.locator("header").getByText(state, { exact: true }).waitFor();
}

/** Creates a task with two turns and a question between them. */
async function twoTurns(): Promise<string> {
  const { server } = used.opened;
  const id = await send(server.url, "steps");
  await show(id, "Input required");
  await send(server.url, "Yes, it is.", { taskId: id });
  await used.opened.page.locator("header").getByText("Completed", { exact: true }).waitFor();
  return id;
}

describe("the timeline of a task", () => {
  it("shows turns, model calls, steps, waits and artifacts as bars, and as a table", async () => {
    const { page } = used.opened;
    await twoTurns();
    const chart = page.getByRole("region", { name: "Timeline" });
    for (const name of [/^Turn 1: Client: steps/, /^Turn 2: Client: Yes, it is\./, /^model, /, /^search, /]) {
      await chart.getByRole("button", { name }).first().waitFor();
    }
    await chart.getByRole("button", { name: /^Input required, / }).waitFor();
    await chart.getByRole("button", { name: /^draft\.txt, / }).waitFor();
    await chart
      .getByRole("button", { name: /^Attempt 1 by / })
      .first()
      .waitFor();
    const width = async (): Promise<number> =>
      (await chart.getByRole("button", { name: /^Turn 1/ }).boundingBox())?.width ?? 0;
    const before = await width();
    await chart.getByRole("button", { name: "Show all" }).focus();
    await page.keyboard.press("-");
    await page.keyboard.press("0");
    expect(await width()).toBeCloseTo(before, 0);
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "As a table" }).click();
    const table = page.getByRole("grid", { name: "Timeline" });
    await table.getByText("Input required").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await table.focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/tab=log/);
  });

  it("shows the attempt that follows a crash", async () => {
    const { page, server, home } = used.opened;
    const id = await send(server.url, "wait");
    await show(id, "Working");
    await page.getByRole("button", { name: /^Attempt 1 by / }).waitFor();
    used.spend();
    await server.kill();
    const next = await home.start();
    await page.goto(linkOf(next));
    await page.waitForSelector("#main h1");
    await page.goto(new URL(`operate/tasks/${id}`, linkOf(next).replace(/#.*/, "")).href);
    await page.getByRole("button", { name: /^Attempt 2, after a crash, by / }).waitFor();
  });
});

describe("the log of a task", () => {
  it("opens an entry as JSON and bytes, by a link and by the keyboard", async () => {
    const { page, go } = used.opened;
    const id = await twoTurns();
    await go(`operate/tasks/${id}?tab=log&entry=3`);
    const detail = page.getByRole("region", { name: "Entry 3" });
    await detail.getByText("model").first().waitFor();
    expect(await detail.getByText("000000").count()).toBe(1);
    expect(await axeFindings(page)).toEqual([]);
    const grid = page.getByRole("grid", { name: "Entries of the log" });
    await grid.focus();
    await page.keyboard.press("k");
    await page.getByRole("region", { name: "Entry 2" }).getByText("Thinking").first().waitFor();
    expect(page.url()).toContain("entry=2");
    await page.keyboard.press("End");
    await page.getByRole("row", { selected: true }).getByText("Completed: Done.").waitFor();
  });

  it("follows the end of a running task", async () => {
    const { page, server } = used.opened;
    const id = await send(server.url, "emit 400 5");
    await show(id, "Working", "log");
    await page.getByLabel("Stay at the end").check();
    await page.locator("header").getByText("Completed", { exact: true }).waitFor();
    await page.getByRole("row").last().getByText("Completed: Ends").waitFor();
  });
});

describe("the replay of a task", () => {
  it("shows the task as it was at a generation of the address, and plays on from there", async () => {
    const { page, go } = used.opened;
    const id = await twoTurns();
    await go(`operate/tasks/${id}?tab=replay&at=1`);
    const messages = page.getByRole("region", { name: "Messages" });
    await messages.getByText("1 message").waitFor();
    await page.getByText("No artifact yet.").waitFor();
    await page.getByRole("slider").focus();
    for (const _ of [1, 2, 3]) await page.keyboard.press("ArrowRight");
    await page.getByRole("article").getByText("new line").waitFor();
    expect(page.url()).toContain("at=4");
    expect(await page.getByText("Is the draft good?").count()).toBe(0);
    expect(await axeFindings(page)).toEqual([]);
    await page.getByLabel("Speed").selectOption("100");
    await page.getByRole("button", { name: "Play" }).click();
    await messages.getByText("Done.").waitFor();
    await messages.getByText("Yes, it is.").waitFor();
    await page.keyboard.press("Tab");
    await page.getByRole("slider").fill("1");
    await messages.getByText("1 message").waitFor();
    expect(await page.getByText("new line").count()).toBe(0);
  });
});

describe("the content of a task", () => {
  it("shows messages, and artifacts with their versions and what changed", async () => {
    const { page, go } = used.opened;
    const id = await twoTurns();
    await go(`operate/tasks/${id}?tab=content`);
    await page.getByRole("region", { name: "Messages" }).getByText("Is the draft good?").waitFor();
    await page.getByLabel("Version").selectOption({ index: 0 });
    await page.getByText("old line").waitFor();
    await page.getByLabel("Version").selectOption({ index: 1 });
    await page.getByRole("button", { name: "Changes from the version before" }).click();
    await page.getByText("1 line added").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await go(`operate/tasks/${id}?tab=raw`);
    await page.getByText("TASK_STATE_COMPLETED").first().waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });
});

describe("the delegations of a task", () => {
  it("are a tree of all levels that leads to each sub-task", async () => {
    const { page, server } = used.opened;
    const id = await send(server.url, `delegate ${server.url} delegate ${server.url} hello`);
    await show(id, "Completed", "delegations");
    const links = page.getByRole("link", { name: "Open the task" });
    await links.nth(1).waitFor();
    expect(await links.count()).toBe(2);
    expect(await axeFindings(page)).toEqual([]);
    await links.nth(1).click();
    await page.getByText("No delegations").waitFor({ state: "detached" });
    await page.getByRole("link", { name: "Delegations" }).click();
    await page.getByText("No delegations").waitFor();
    await page.getByRole("link", { name: "Messages and artifacts" }).click();
    await page.getByText("hello").first().waitFor();
  });

  it("leads to the agent where this server does not have the sub-task", async () => {
    const { page, server } = used.opened;
    const other = await openConsole(used.browser, { agent: workerAgent });
    try {
      const id = await send(server.url, `delegate ${other.server.url} hello`);
      await show(id, "Completed", "delegations");
      const href = await page.getByRole("link", { name: "Open at the agent" }).getAttribute("href");
      expect(decodeURIComponent(href ?? "")).toContain(other.server.url);
      expect(href).toContain("task=");
    } finally {
      await other.close();
    }
  });
});

describe("actions on a task's page", () => {
  it("fail a task live, and delete it", async () => {
    const { page, server } = used.opened;
    const id = await send(server.url, "wait");
    await show(id, "Working");
    expect(await page.getByRole("button", { name: "Delete" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Fail", exact: true }).click();
    await page.getByRole("button", { name: "Fail the task" }).click();
    await page.locator("header").getByText("Failed", { exact: true }).waitFor();
    const caller = await page.getByRole("link", { name: "Open as a caller" }).getAttribute("href");
    expect(caller).toContain(`task=${id}`);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("The task was deleted.").waitFor();
    await page.reload();
    await page.getByText("The server has no task with this id.").waitFor();
  });

  it("delete a task whose log is damaged, of which the page shows what is left", async () => {
    const { page, server, home } = used.opened;
    const id = await send(server.url, "steps");
    await show(id, "Input required");
    const db = openDatabase(home.store);
    const last = "(SELECT max(last) FROM segment WHERE task_id = ?1)";
    db.command(`UPDATE segment SET bytes = x'01ff', blob = NULL WHERE task_id = ?1 AND last = ${last}`).run(id);
    db.close();
    used.spend();
    await server.kill();
    const next = await home.start();
    await page.goto(linkOf(next));
    await page.waitForSelector("#main h1");
    await page.goto(new URL(`operate/tasks/${id}?tab=log`, linkOf(next).replace(/#.*/, "")).href);
    await page.getByText("The stored log of this task is damaged.").waitFor();
    await page.getByRole("row").last().getByText("do not decode").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    expect(await page.getByRole("button", { name: "Cancel" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("The task was deleted.").waitFor();
  });
});

describe("push configurations of a task", () => {
  it("are listed with the way to their deliveries", async () => {
    const { page, server } = used.opened;
    const id = await send(server.url, "wait");
    await show(id, "Working", "deliveries");
    await page.getByText("No push configurations").waitFor();
    const answer = await fetch(`${server.url}/tasks/${id}/pushNotificationConfigs`, {
      method: "POST",
      headers: { "content-type": "application/json", "a2a-version": "1.0" },
      body: JSON.stringify({ id: "hook", url: "http://127.0.0.1:9/secret" }),
    });
    expect(await answer.text()).toContain("hook");
    expect(answer.status).toBe(200);
    await page.reload();
    await page.getByText("http://127.0.0.1:9", { exact: true }).first().waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("link", { name: "Details" }).click();
    await page.waitForURL(/deliveries\?.*task=/);
  });
});

const tabs = ["timeline", "log&entry=4", "replay&at=4", "content", "delegations", "deliveries", "raw"];

describe("a task's page at 360, 768 and 1440 pixels", () => {
  it("has no sideways scroll in any view, and no findings of axe", async () => {
    const { page, go } = used.opened;
    const id = await twoTurns();
    await page.emulateMedia({ colorScheme: "dark" });
    const widths = [360, 768, 1440];
    for (const [index, tab] of tabs.entries()) {
      // Some loads use each width.
      for (const at of [0, 1, 2]) {
        const width = widths[(index + at) % widths.length] as number;
        await page.setViewportSize({ width, height: 900 });
        if (at === 0) await go(`operate/tasks/${id}?tab=${tab}`);
        await page.waitForLoadState("networkidle");
        expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), `${tab} ${width}`).toBe(true);
        expect(await axeFindings(page), `${tab} ${width}`).toEqual([]);
      }
    }
  });
});
