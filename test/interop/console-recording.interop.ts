import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { root } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { axeFindings } from "./console/axe.js";
import { buildConsole } from "./console/build.js";
import { linkOf, type OpenedConsole, openConsole } from "./console/open.js";
import { fitsIn, lastOf, PATIENCE, say, talkTo, tell } from "./console/talk.js";

const fixture = (name: string): string => join(root, `test/fixtures/agents/${name}.mjs`);
const main = join(root, "dist/src/cli/main.js");
const folder = mkdtempSync(join(tmpdir(), "parley-recording-"));
const file = join(folder, "trip.jsonl");
const nextHome = new Home();
nextHome.agent = fixture("travel-next");

let browser: Browser;
let opened: OpenedConsole;
/** Serves the next version of the agent. */
let next: ServerProcess;

beforeAll(async () => {
  buildConsole();
  browser = await launch();
  opened = await openConsole(browser, { agent: fixture("travel"), acceptDownloads: true });
  next = await nextHome.start();
  await cli(["record", file, "-a", opened.server.url], "hello\nPlan a trip\nVienna\n");
});

afterAll(async () => {
  await opened?.close();
  await closeWindows(browser);
  await nextHome.leave();
  rmSync(folder, { recursive: true });
});

/** Runs a command. Returns its exit code and output. */
function cli(args: readonly string[], stdin = ""): Promise<{ readonly code: number; readonly out: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [main, ...args], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), out: stdout + stderr });
    });
    child.stdin?.end(stdin);
  });
}

const turns = (page: Page) => page.getByRole("region", { name: "Turns" }).getByRole("listitem");
const start = (page: Page) => page.getByRole("button", { name: "Replay", exact: true });
const openFile = (page: Page, path: string | { name: string; mimeType: string; buffer: Buffer }): Promise<void> =>
  page.locator("input[type=file]").setInputFiles(path);

/** Opens the file of `parley record` in the page. */
async function openRecording({ go, page }: OpenedConsole, search = ""): Promise<void> {
  await go(`recording${search}`);
  await page.getByRole("heading", { name: "Replay a conversation" }).waitFor(PATIENCE);
  await openFile(page, file);
  await expect.poll(() => turns(page).count(), PATIENCE).toBe(3);
}

const withNext = (): string => `?agent=${encodeURIComponent(next.url)}`;

describe("a recording of the command line", () => {
  it("opens in the console, and has no differences with the same agent, over each binding", async () => {
    const { page } = opened;
    await openRecording(opened);
    expect(await page.getByRole("main").textContent()).toContain("trip.jsonl");
    expect(await turns(page).first().textContent()).toContain("Hello, traveller.");
    expect(await axeFindings(page)).toEqual([]);
    for (const speech of ["", "HTTP+JSON 1.0", "GRPC-WEB 1.0"]) {
      await page.getByRole("combobox", { name: "Binding and version" }).selectOption(speech);
      await start(page).click();
      await expect
        .poll(() => page.getByRole("status").allTextContents(), PATIENCE)
        .toContain("All 3 answers are the same.");
      expect(await page.getByText("Same", { exact: true }).count()).toBe(3);
    }
    expect(await axeFindings(page)).toEqual([]);
  });

  it("shows the differences of a new version as parley replay does, and its shape is the same", async () => {
    const { page } = opened;
    await openRecording(opened, withNext());
    await start(page).click();
    await expect.poll(() => page.getByRole("status").allTextContents(), PATIENCE).toContain("1 same, 2 different.");
    const { out, code } = await cli(["replay", file, "-a", next.url]);
    expect(code).toBe(1);
    const shown = await turns(page).nth(2).locator("figure > div").allTextContents();
    const lines = shown.map((line) => line.replace(/^\+Now: /, "  + ").replace(/^−Recorded: /, "  - "));
    const printed = out.slice(out.indexOf("Turn 3"), out.indexOf("Result")).trimEnd().split("\n").slice(1);
    expect(lines.map((line) => (/^ {2}[+-] /.test(line) ? line : `    ${line.slice(1)}`))).toEqual(printed);
    expect(printed).toContain("  +   Tuesday: the market");
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("combobox", { name: "Compare" }).selectOption("shape");
    await expect
      .poll(() => page.getByRole("status").allTextContents(), PATIENCE)
      .toContain("All 3 answers are the same.");
    expect(page.url()).toContain("compare=shape");
  });

  it("links each turn to its exchange, whose address works", async () => {
    const { page } = opened;
    await openRecording(opened, withNext());
    await start(page).click();
    await expect.poll(() => page.getByRole("link", { name: /^Exchange of turn/ }).count(), PATIENCE).toBe(3);
    await page.getByRole("link", { name: "Exchange of turn 3" }).click();
    const dialog = page.getByRole("dialog", { name: "Exchange" });
    await expect.poll(() => dialog.textContent(), PATIENCE).toContain("Vienna");
    expect(await dialog.textContent()).toContain(next.url);
    expect(page.url()).toMatch(/exchange=\d+/);
    expect(await axeFindings(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  it("opens when it is dropped, and is replayed by the keyboard alone", async () => {
    const { page } = opened;
    await opened.go(`recording${withNext()}`);
    await page.getByText("No recording is open.").waitFor(PATIENCE);
    expect(await axeFindings(page)).toEqual([]);
    const text = readFileSync(file, "utf8");
    const data = await page.evaluateHandle(
      `(() => { const data = new DataTransfer(); data.items.add(new File([${JSON.stringify(text)}], "dropped.jsonl")); return data; })()`,
    );
    await page.dispatchEvent("#main > div", "drop", { dataTransfer: data });
    await expect.poll(() => turns(page).count(), PATIENCE).toBe(3);
    await page.getByRole("button", { name: "Open a recording" }).focus();
    for (let at = 0; at < 10; at++) {
      await page.keyboard.press("Tab");
      if ((await page.evaluate("document.activeElement.textContent")) === "Replay") break;
    }
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByRole("status").allTextContents(), PATIENCE).toContain("1 same, 2 different.");
  });

  it("can be stopped, and ends at a turn that an agent does not answer", async () => {
    const { page } = opened;
    const [head = "", first = ""] = readFileSync(file, "utf8").split("\n");
    const slow = first.replace('"hello"', '"slow"');
    await openRecording(opened);
    const buffer = Buffer.from(`${[head, first, slow, first].join("\n")}\n`);
    await openFile(page, { name: "slow.jsonl", mimeType: "", buffer });
    await page.getByText("slow.jsonl").waitFor(PATIENCE);
    await start(page).click();
    await expect.poll(() => turns(page).nth(1).textContent(), PATIENCE).toContain("Running");
    await page.getByRole("button", { name: "Stop" }).click();
    await expect
      .poll(() => page.getByRole("status").allTextContents(), PATIENCE)
      .toContainEqual(expect.stringContaining("Stopped after 1 of 3 turns."));
    // The agent refuses the login from the second turn on.
    await page.route("**/*", (route) =>
      route.request().postData()?.includes("slow") ? route.fulfill({ status: 401 }) : route.fallback(),
    );
    await start(page).click();
    await page.getByText("Turn 2 was not answered, and the replay ended.").waitFor(PATIENCE);
    expect(await turns(page).first().textContent()).toContain("Same");
    expect(await axeFindings(page)).toEqual([]);
    await page.unrouteAll();
    await opened.go("recording?agent=http%3A%2F%2F127.0.0.1%3A9");
    await openFile(page, file);
    await page.getByRole("button", { name: "Try again" }).waitFor(PATIENCE);
    await start(page).click();
    await page.getByRole("heading", { name: "The agent cannot be reached." }).waitFor(PATIENCE);
    expect(await axeFindings(page)).toEqual([]);
  });
});

describe("what is not a recording", () => {
  const head = '{"format":"parley-recording","version":1}\n';
  const turn = '{"message":{"parts":[{"text":"hi"}]},"answer":{"message":[],"artifacts":[]}}\n';

  beforeEach(() => opened.go("recording"));

  it.each([
    ["another file", '{"a":1}\n', "bad.jsonl is not a recording."],
    ["a broken line", `${head}{\n`, "bad.jsonl, line 2: is not a JSON object."],
    ["a later version", head.replace("1}", "2}"), "bad.jsonl is a recording of version 2, not 1."],
    ["no turns", head, "bad.jsonl has no turns."],
    ["deep nesting", `${head}{"a":${"[".repeat(90_000)}${"]".repeat(90_000)}}\n`, "line 2: is n"],
    ["too many turns", head + turn.repeat(1_001), "bad.jsonl has more than 1,000 turns."],
  ])("is refused: %s", async (_, text, fault) => {
    const { page } = opened;
    await openFile(page, { name: "bad.jsonl", mimeType: "", buffer: Buffer.from(text) });
    await expect.poll(() => page.getByRole("alert").textContent(), PATIENCE).toContain(fault);
    expect(await page.getByText("No recording is open.").count()).toBe(1);
  });

  it("is refused: a file that is too large", async () => {
    const { page } = opened;
    const large = join(folder, "large.jsonl");
    writeFileSync(large, "");
    truncateSync(large, 64 * 1024 * 1024 + 1);
    await openFile(page, large);
    await expect.poll(() => page.getByRole("alert").textContent(), PATIENCE).toBe("large.jsonl is larger than 64 MiB.");
    expect(await axeFindings(page)).toEqual([]);
  });

  it("runs nothing, calls no address of the file, and shows a part of what is long", async () => {
    const { page } = opened;
    const script = "<img src=x onerror='window.harmed=true'>";
    const long = `${script}\n`.repeat(20_000);
    const hostile = {
      message: [{ text: long }],
      artifacts: [{ name: script, parts: [{ text: "x".repeat(5_000_000) }] }],
    };
    const named = { format: "parley-recording", version: 1, agent: script, at: script };
    const url = "https://attacker.example/a2a";
    const lines = [
      { ...named, interface: { binding: script, version: script, url } },
      { message: { parts: [{ text: script }] }, answer: hostile },
    ];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    await openFile(page, { name: "hostile.jsonl", mimeType: "", buffer: Buffer.from(text) });
    await expect.poll(() => turns(page).count(), PATIENCE).toBe(1);
    expect(await turns(page).textContent()).toContain("19,704 more lines not shown");
    expect(await page.evaluate("window.harmed")).toBeUndefined();
    expect(await page.getByRole("combobox", { name: "Replay with" }).inputValue()).toBe(opened.server.url);
    expect(await page.locator("option").allTextContents()).not.toContain(expect.stringContaining("attacker"));
    expect(await axeFindings(page)).toEqual([]);
  });
});

describe("a conversation of the console", () => {
  it("is saved as a file that parley replay finds the same, and replayed with a new version", async () => {
    const { page } = opened;
    await talkTo(opened);
    await say(page, "hello");
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("Hello, traveller.");
    await tell(page, "Plan a trip", "Input required");
    await say(page, "Vienna");
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("Have a good trip.");
    await say(page, "broken");
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("Failed");
    await page.getByRole("link", { name: "Record and replay" }).click();
    await expect.poll(() => turns(page).count(), PATIENCE).toBe(4);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save the recording" }).click(),
    ]);
    const saved = join(folder, "saved.jsonl");
    await download.saveAs(saved);
    const text = readFileSync(saved, "utf8");
    expect(JSON.parse(text.split("\n")[0] ?? "")).toMatchObject({
      format: "parley-recording",
      version: 1,
      agent: "Travel",
      interface: { version: "1.0", url: expect.stringContaining(opened.server.url) },
    });
    expect(text).not.toMatch(/messageId|contextId|taskId/);
    const { out, code } = await cli(["replay", saved, "-a", opened.server.url]);
    expect(out).toContain("Result: 4 same, 0 different");
    expect(code).toBe(0);
    // The URL contains everything except the recording, which the browser stores.
    const id = new URL(page.url()).searchParams.get("conversation");
    await opened.go(`recording${withNext()}&conversation=${id}`);
    await expect.poll(() => turns(page).count(), PATIENCE).toBe(4);
    await start(page).click();
    await expect.poll(() => page.getByRole("status").allTextContents(), PATIENCE).toContain("2 same, 2 different.");
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole("link", { name: "Back to the conversation" }).click();
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("broken");
  });

  it("is recorded after its task was opened elsewhere, and without what the browser did not keep", async () => {
    const { page } = opened;
    await talkTo(opened);
    await page.getByRole("link", { name: "New conversation" }).click();
    await page
      .getByRole("link", { name: /Travel/ })
      .last()
      .click();
    await tell(page, "Plan a trip", "Input required");
    await page.locator("input[type=file]").first().setInputFiles(file);
    await say(page, "Rome");
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toContain("Have a good trip.");
    const id = await page.locator("article footer button[title]").first().getAttribute("title");
    await page.getByRole("link", { name: "Record and replay" }).click();
    await expect.poll(() => turns(page).count(), PATIENCE).toBe(2);
    // A reload loses the bytes of files.
    await page.reload();
    await page.getByText("1 message is left out").waitFor(PATIENCE);
    expect(await turns(page).count()).toBe(1);
    await page.evaluate("localStorage.clear()");
    await opened.go(`talk?agent=${encodeURIComponent(opened.server.url)}&task=${id}`);
    await page.getByRole("link", { name: "Record and replay" }).click();
    // The agent's task contains only the last answer.
    await page.getByText("1 message is left out").waitFor(PATIENCE);
    expect(await turns(page).allTextContents()).toEqual([expect.stringContaining("Three days in Rome")]);
  });

  it("leaves out what was not answered, and says so", async () => {
    const { page } = opened;
    await talkTo(opened);
    await page.getByRole("link", { name: "New conversation" }).click();
    await page
      .getByRole("link", { name: /Travel/ })
      .last()
      .click();
    await say(page, "slow");
    await page.getByRole("button", { name: "Stop waiting" }).click();
    await page.getByRole("link", { name: "Record and replay" }).click();
    await page.getByText("Nothing to replay yet.").waitFor(PATIENCE);
    await page.getByText("1 message is left out").waitFor(PATIENCE);
    expect(await axeFindings(page)).toEqual([]);
  });
});

describe("parley console --recording", () => {
  it("opens the file in the same page, also after a reload, with the agent to replay it with", async () => {
    const args = ["console", next.url, "--recording", file, "--no-open"];
    const child = spawn(process.execPath, [main, ...args], { stdio: ["ignore", "pipe", "ignore"] });
    const page = await browser.newPage();
    try {
      let greeting = "";
      child.stdout.on("data", (piece) => (greeting += piece));
      await vi.waitUntil(() => greeting.includes("#token="), PATIENCE);
      await page.goto(linkOf({ greeting, log: "" }));
      await expect.poll(() => turns(page).count(), PATIENCE).toBe(3);
      expect(page.url()).not.toContain("trip");
      await page.reload();
      await expect.poll(() => turns(page).count(), PATIENCE).toBe(3);
      await start(page).click();
      await expect.poll(() => page.getByRole("status").allTextContents(), PATIENCE).toContain("1 same, 2 different.");
    } finally {
      await page.close();
      child.kill("SIGINT");
    }
  });
});

describe.each([360, 768, 1440])("a replay at %i pixels", (width) => {
  it("fits in", async () => {
    const { page } = opened;
    await page.setViewportSize({ width, height: 800 });
    await openRecording(opened, withNext());
    await start(page).click();
    await expect.poll(() => page.getByRole("status").allTextContents(), PATIENCE).toContain("1 same, 2 different.");
    expect(await fitsIn(page)).toBe(true);
    expect(await axeFindings(page)).toEqual([]);
    expect(opened.faults.filter((fault) => !/502|Failed to load/.test(fault))).toEqual([]);
    expect(opened.foreign).toEqual([]);
  });
});
