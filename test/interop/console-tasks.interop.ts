import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { describe, expect, it } from "vitest";
import { axeFindings } from "./console/axe.js";
import { logInAs, operatorFlags, send } from "./console/operator.js";
import { useConsoles, workerAgent } from "./console/use-console.js";

const used = useConsoles({ agent: workerAgent, flags: operatorFlags(), isKept: true }, /40[01]|net::ERR_FAILED/);

const rowOf = (id: string): Locator => used.opened.page.getByRole("row").filter({ hasText: id });

describe("the list of tasks", () => {
  it("shows new tasks and changes without a reload, and keeps them back while it is paused", async () => {
    await used.renew();
    const { page, server, go } = used.opened;
    await go("operate/tasks");
    await page.getByText("No tasks", { exact: true }).waitFor();
    const first = await send(server.url, "wait");
    await rowOf(first).getByText("Working").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    const second = await send(server.url, "hello");
    await fetch(`${server.url}/tasks/${first}:cancel`, { method: "POST", headers: { "a2a-version": "1.0" } });
    await page.getByText("Paused").waitFor();
    expect(await rowOf(second).count()).toBe(0);
    await page.getByRole("button", { name: "Continue" }).click();
    await rowOf(second).getByText("Completed").waitFor();
    await rowOf(first).getByText("Canceled").waitFor();
  });

  it("opens the stream again after it was cut, and shows what it has missed", async () => {
    const { page, server, go } = used.opened;
    const first = await send(server.url, "wait");
    await go("operate/tasks");
    await rowOf(first).waitFor();
    await page.route("**/FollowTasks*", (route) => route.abort());
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("Reconnecting…").waitFor();
    const second = await send(server.url, "hello");
    await page.unroute("**/FollowTasks*");
    await rowOf(second).waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
  });

  it("filters by what the address says, and saves filters in the browser", async () => {
    const { page, server, go } = used.opened;
    const waiting = await send(server.url, "wait");
    const found = await send(server.url, "the needle");
    await expect.poll(() => stateOf(found)).toBe("TASK_STATE_COMPLETED");
    await go("operate/tasks");
    await rowOf(waiting).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("NEEDLE");
    await rowOf(found).waitFor();
    await expect.poll(() => rowOf(waiting).count()).toBe(0);
    expect(page.url()).toContain("text=NEEDLE");
    await page.getByRole("button", { name: "Saved filters" }).click();
    await page.getByLabel("Name of the filter").fill("needles");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Remove all filters" }).click();
    await rowOf(waiting).waitFor();
    await page.getByRole("button", { name: "States" }).click();
    await page.getByRole("checkbox", { name: "Working" }).check();
    await expect.poll(() => rowOf(found).count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.reload();
    await rowOf(waiting).waitFor();
    expect(await rowOf(found).count()).toBe(0);
    await page.getByRole("button", { name: "Saved filters" }).click();
    await page.getByRole("button", { name: "needles", exact: true }).click();
    await rowOf(found).waitFor();
    expect(await rowOf(waiting).count()).toBe(0);
    await go("operate/tasks?owner=nobody");
    await page.getByText("No task matches").waitFor();
  });

  it("is used by the keyboard alone", async () => {
    const { page, server, go } = used.opened;
    for (const text of ["one", "two", "three"]) await send(server.url, text);
    await go("operate/tasks");
    const grid = page.getByRole("grid", { name: "Tasks" });
    await page.getByRole("row").nth(3).waitFor();
    await grid.focus();
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.getByText("1 task chosen").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Space");
    await page.getByText("2 tasks chosen").waitFor();
    await page.keyboard.press("k");
    const active = await grid.getAttribute("aria-activedescendant");
    const id = await page.locator(`[id="${active}"] a`).textContent();
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/operate/tasks/${id}`);
    await page.getByRole("heading", { name: "Task", exact: true }).waitFor();
  });
});

describe("changes from the list", () => {
  it("cancels, fails with a text and deletes after a confirmation", async () => {
    const { page, server, go } = used.opened;
    const [canceled, failed] = [await send(server.url, "wait"), await send(server.url, "wait")];
    await go("operate/tasks");
    await act(canceled, "Cancel");
    await page.getByRole("button", { name: "Cancel the task" }).click();
    await rowOf(canceled).getByText("Canceled").waitFor();
    await act(failed, "Fail");
    await page.getByLabel("Text for the client").fill("It was stuck.");
    await page.getByRole("button", { name: "Fail the task" }).click();
    await rowOf(failed).getByText("Failed").waitFor();
    expect(JSON.stringify(await taskOf(failed))).toContain("It was stuck.");
    await rowOf(canceled).getByRole("checkbox").check();
    await rowOf(failed).getByRole("checkbox").check();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await expect.poll(() => rowOf(canceled).count()).toBe(0);
    await expect.poll(() => rowOf(failed).count()).toBe(0);
  });

  it("says which of several tasks could not be changed", async () => {
    const { page, server, go } = used.opened;
    const [waiting, ended] = [await send(server.url, "wait"), await send(server.url, "hello")];
    await expect.poll(() => stateOf(ended)).toBe("TASK_STATE_COMPLETED");
    await go("operate/tasks");
    for (const id of [waiting, ended]) await rowOf(id).getByRole("checkbox").check();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByText("1 of 2 tasks could not be changed").waitFor();
    expect(await page.getByRole("dialog").getByText(waiting).count()).toBe(1);
  });

  it("exports a task as a file, which imports after the task was deleted", async () => {
    const { page, server, go } = used.opened;
    const id = await send(server.url, "hello");
    await expect.poll(() => stateOf(id)).toBe("TASK_STATE_COMPLETED");
    await go("operate/tasks");
    await act(id, "Export");
    const downloading = page.waitForEvent("download");
    await page.getByRole("dialog").getByRole("button", { name: "Export" }).click();
    const download = await downloading;
    expect(download.suggestedFilename()).toBe(`${id}.jsonl`);
    const path = join(tmpdir(), `${id}.jsonl`);
    await download.saveAs(path);
    expect(readFileSync(path, "utf8").split("\n")[0]).toContain("parley task");
    await act(id, "Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await expect.poll(() => rowOf(id).count()).toBe(0);
    await page.getByRole("button", { name: "Import", exact: true }).click();
    writeFileSync(join(tmpdir(), "broken.jsonl"), "{}\n");
    await page.setInputFiles("input[type=file]", [path, join(tmpdir(), "broken.jsonl")]);
    await page.getByRole("dialog").getByRole("button", { name: "Import" }).click();
    await page.getByRole("dialog").getByText("Imported").waitFor();
    await page.getByRole("dialog").getByRole("alert").waitFor();
    expect(await stateOf(id)).toBe("TASK_STATE_COMPLETED");
  });
});

describe("an operator with the role read", () => {
  it("sees tasks, and is told why it cannot change them", async () => {
    await used.renew();
    const { page, server, go } = used.opened;
    const id = await send(server.url, "wait");
    await logInAs(page, "read");
    await go("operate/tasks");
    await rowOf(id).getByRole("button", { name: "Actions" }).click();
    for (const name of ["Cancel", "Fail", "Delete"]) {
      const item = page.getByRole("menuitem", { name: new RegExp(`^${name}`) });
      expect(await item.getAttribute("aria-disabled")).toBe("true");
      expect(await item.textContent()).toContain("Your role is “read”");
    }
    expect(await page.getByRole("menuitem", { name: "Export" }).getAttribute("aria-disabled")).not.toBe("true");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("button", { name: "Import" }).isDisabled()).toBe(true);
    await go(`operate/tasks/${id}`);
    for (const name of ["Cancel", "Fail", "Delete"]) {
      expect(await page.getByRole("button", { name, exact: true }).isDisabled()).toBe(true);
    }
    await page.getByText("Your role is “read”").waitFor();
  });
});

describe.each([
  { width: 360, colorScheme: "dark" },
  { width: 1440, colorScheme: "light" },
] as const)("the list at $width pixels, $colorScheme", ({ width, colorScheme }) => {
  it("has no findings of axe, and no sideways scroll", async () => {
    await used.renew();
    const { page, server, go } = used.opened;
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await go("operate/tasks");
    await page.getByText("No tasks", { exact: true }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    for (const text of ["hello", "steps", "wait"]) await send(server.url, text);
    await page.locator("[data-rows] [data-index='2']").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    for (const name of ["States", "More filters", "Saved filters"]) {
      await page.getByRole("button", { name }).click();
      await page.getByRole("dialog").waitFor();
      expect(await axeFindings(page)).toEqual([]);
      await page.keyboard.press("Escape");
    }
    await page.locator("[data-rows] [data-index='0']").getByRole("button", { name: "Actions" }).click();
    await page.getByRole("menuitem", { name: "Export" }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("menuitem", { name: "Export" }).click();
    await page.getByRole("dialog").waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Import", exact: true }).click();
    expect(await axeFindings(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  });
});

/** Opens the menu of a row and selects an action. */
async function act(id: string, action: string): Promise<void> {
  await rowOf(id).getByRole("button", { name: "Actions" }).click();
  await used.opened.page.getByRole("menuitem", { name: new RegExp(`^${action}`) }).click();
}

async function taskOf(id: string): Promise<{ readonly status?: { readonly state?: string } }> {
  const answer = await fetch(`${used.opened.server.url}/tasks/${id}`, { headers: { "a2a-version": "1.0" } });
  return (await answer.json()) as { readonly status?: { readonly state?: string } };
}

async function stateOf(id: string): Promise<string | undefined> {
  return (await taskOf(id)).status?.state;
}
