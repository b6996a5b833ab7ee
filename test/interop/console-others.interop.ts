import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeWindows, launch } from "./browser/chromium.js";
import { buildConsole } from "./console/build.js";
import { type OpenedConsole, openConsole } from "./console/open.js";
import { lastOf, PATIENCE, reaches, say, talkTo, tell } from "./console/talk.js";
import { findings } from "./support/findings.js";
import { allServers, type Started } from "./support/servers.js";
import { run } from "./support/tool.js";

/** Foreign servers, whose agents do what the first word of a message says. */
const { Parley: _, ...others } = allServers;

/** The bindings that a browser calls. All servers except Java's also serve gRPC. */
const bindings = ["JSONRPC", "HTTP+JSON"] as const;

let browser: Browser;
let opened: OpenedConsole;
let page: Page;

beforeAll(async () => {
  buildConsole();
  browser = await launch();
  opened = await openConsole(browser, { permissions: ["clipboard-read", "clipboard-write"] });
  page = opened.page;
});

afterAll(async () => {
  await opened?.close();
  await closeWindows(browser);
});

const copied = (): Promise<string> => page.evaluate<string>("navigator.clipboard.readText()");

/** Collects the texts shown while the answer grows, until the task completes. */
const watchLast = `new Promise((resolve) => {
  const seen = [];
  const look = () => {
    const last = [...document.querySelectorAll("article")].at(-1);
    const text = last?.querySelector("figure")?.textContent.replace(/^\\D*/, "").trim();
    if (text && seen.at(-1) !== text) seen.push(text);
    if (/Completed/.test(last?.querySelector("footer")?.textContent ?? "")) resolve(seen);
    else setTimeout(look, 5);
  };
  look();
})`;

describe.each(Object.entries(others))("an agent served with %s", (name, start) => {
  let server: Started;

  beforeAll(async () => {
    server = await start();
  });

  afterAll(() => server?.stop());

  const agentPage = (tab: string): string => `agent?url=${encodeURIComponent(server.url)}&tab=${tab}`;

  it("is added by its URL, and its card is shown", async () => {
    await opened.go("agents");
    await page.getByLabel("URL of an agent").fill(server.url);
    await page.getByRole("button", { name: "Add", exact: true }).click();
    const shown = page.getByRole("heading", { name: "Foreign", level: 1 }).waitFor(PATIENCE);
    await shown.catch(async (cause: unknown) => {
      throw new Error(`It shows: ${await page.locator("body").textContent()}`, { cause });
    });
    const text = await page.locator("main").textContent();
    for (const part of ["Does what the first word says.", "1.0.0", "Streams", "text/plain"])
      expect(text).toContain(part);
  });

  it("is asked over each interface that a browser can call", async () => {
    await opened.go(agentPage("interfaces"));
    const rows = page.locator("main tbody tr");
    await expect.poll(() => rows.filter({ hasText: "Answers" }).count(), PATIENCE).toBe(bindings.length);
    for (const binding of bindings)
      expect(await rows.filter({ hasText: binding }).textContent()).toMatch(/Answers[\d.]+ m?s[\d.]+ m?s$/);
    const others = rows.filter({ hasNotText: "Answers" });
    for (const text of await others.allTextContents()) expect(text).toContain("gRPC cannot be called from a browser");
  });

  describe.each(bindings)("over %s", (binding) => {
    beforeAll(async () => {
      await talkTo(opened, server.url);
      await page.getByRole("combobox", { name: "Binding and version" }).selectOption(`${binding} 1.0`);
    });

    it("answers by a task, by a message, and with a failure", async () => {
      await tell(page, "echo hello");
      expect(await lastOf(page).locator("figure").textContent()).toContain("hello");
      await say(page, "say good day");
      await lastOf(page).getByText("Answered without a task").waitFor(PATIENCE);
      expect(await lastOf(page).textContent()).toContain("Agentgood day");
      await tell(page, "fail", "Failed");
      expect(await lastOf(page).textContent()).toContain("It did not work.");
    });

    it("streams its pieces, which are shown in order as they come", async () => {
      await say(page, "stream 12 60");
      const seen = await page.evaluate<readonly string[]>(watchLast);
      const whole = Array.from({ length: 12 }, (_, at) => at + 1).join(" ");
      expect(seen.length).toBeGreaterThan(3);
      for (const text of seen) expect(whole.startsWith(text), text).toBe(true);
      await expect.poll(() => lastOf(page).locator("figure").textContent(), PATIENCE).toContain(whole);
    });

    it("asks back, is answered, and has it all in one conversation", async () => {
      await tell(page, "ask", "Input required");
      const asked = await page.locator("article").count();
      await say(page, "the red one");
      await reaches(page, "Completed");
      expect(await lastOf(page).textContent()).toContain("the red one");
      expect(await page.locator("article").count()).toBe(asked);
      const contexts = new Set<string>();
      page.on("request", note);
      await tell(page, "echo once");
      await tell(page, "echo more");
      page.off("request", note);
      expect(contexts.size).toBe(1);
      expect(await lastOf(page).textContent()).toMatch(/Version \d+ of \d+/);
      function note(request: { postData(): string | null }): void {
        const id = /"contextId":"([^"]+)"/.exec(request.postData() ?? "")?.[1];
        if (id !== undefined) contexts.add(id);
      }
    });

    it("cancels a task", async () => {
      await say(page, "wait 60000");
      await reaches(page, "Working");
      await page.getByRole("button", { name: "Cancel", exact: true }).last().click();
      await reaches(page, "Canceled");
    });

    it("shows the raw exchange of a stream, whose curl does the same again", async () => {
      await tell(page, "stream 3 10");
      await page.getByRole("button", { name: "Raw exchanges" }).click();
      await page.locator("li button").filter({ hasText: "SendStreamingMessage" }).first().click();
      await page.getByText("Event 3").waitFor(PATIENCE);
      await page.getByText("artifactUpdate").first().waitFor(PATIENCE);
      await page.getByRole("button", { name: "Copy as curl" }).click();
      const command = await copied();
      expect(command).toMatch(/^curl -N -X POST 'http/);
      const { stdout, stderr, code } = await run("bash", ["-c", command]);
      expect(code, stderr).toBe(0);
      expect(stdout).toContain("TASK_STATE_COMPLETED");
      for (const piece of ["1 ", "2 ", "3 "]) expect(stdout.replaceAll('": ', '":')).toContain(`"text":"${piece}"`);
      await page.getByRole("button", { name: "Raw exchanges" }).click();
    });
  });

  it("answers one message over all interfaces alike", async () => {
    await opened.go(agentPage("bindings"));
    await page.getByLabel("Message").fill("stream 3 10");
    await page.getByRole("button", { name: "Send over all" }).click();
    await page.getByText("All answers are the same").waitFor({ timeout: 60_000 });
    expect(await page.locator("main tbody tr").count()).toBe(bindings.length);
  });

  it("is checked to the end, with the findings of doctor, while the page is used", async () => {
    await opened.go(agentPage("checks"));
    await page.getByLabel("Text of the messages").fill("echo hello");
    await page.getByRole("button", { name: "Check the interfaces" }).click();
    await page.getByText("Checking", { exact: true }).waitFor(PATIENCE);
    await page.getByLabel("Only what is wrong").check();
    await page.getByRole("button", { name: "Copy the report" }).click({ timeout: 240_000 });
    const report = await copied();
    for (const binding of bindings) expect(report).toContain(`## ${binding} 1.0 (`);
    expect(faultsIn(report).toSorted()).toEqual(known(name).toSorted());
  }, 300_000);
});

/** The checks that a report lists as faults, as `binding check`. */
function faultsIn(report: string): string[] {
  return report.split(/^## /m).flatMap((group) => {
    const binding = /^\S+(?= 1\.0)/.exec(group)?.[0] ?? "card";
    return [...group.matchAll(/^- (?:Fault|Improve): (\S+)/gm)].map(([, check]) => `${binding} ${check}`);
  });
}

/** The checks that doctor reports for a server, without those of gRPC. */
function known(name: string): string[] {
  const heads = (findings[name] ?? []).map((line) => line.slice(0, line.indexOf(":")).replaceAll("\\", ""));
  return heads.filter((head) => !head.startsWith("GRPC"));
}

it("loads nothing from elsewhere for all of them", () => {
  expect(opened.foreign).toEqual([]);
  // The checks and the list of interfaces cause these errors on purpose.
  expect(opened.faults.filter((fault) => !/status of [45]\d\d/.test(fault))).toEqual([]);
});
