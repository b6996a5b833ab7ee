import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Agent, artifact, completed, createServer, inputRequired, type Server, working } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { root } from "../e2e/support/build.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { axeFindings } from "./console/axe.js";
import { buildConsole } from "./console/build.js";
import { linkOf, type OpenedConsole, openConsole } from "./console/open.js";
import { boxOf, fitsIn, lastOf, PATIENCE, reaches, talkTo, tell } from "./console/talk.js";

/** Small promises of the pages for talking, each of which no larger test covers. */

let browser: Browser;
let opened: OpenedConsole;
let page: Page;
let other: Server;
let otherUrl = "";

/** Number of steps that the slow agent may still take, and a function that wakes it. */
let steps = 0;
let wake: () => void = () => {};

/** Lets the slow agent continue by one step, now or later. */
function go(): void {
  steps++;
  wake();
}

/** Waits for a `go`, which may already have come. */
async function step(): Promise<void> {
  while (steps === 0) {
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  steps--;
}

const old = {
  type: "form",
  form: {
    type: "object",
    title: "An expense",
    properties: {
      date: { type: "string", format: "date", title: "Date" },
      amount: { type: "string", format: "number", title: "Amount" },
      mail: { type: "string", format: "email", title: "Mail", description: "Where the receipt goes." },
      at: { type: "string", format: "time", title: "Time" },
      page: { type: "string", format: "uri", title: "Page" },
      code: { type: "string", format: "password", title: "Code" },
      count: { type: "integer", title: "Count" },
      purpose: { type: "string", title: "Purpose" },
    },
    required: ["date", "amount", "purpose"],
  },
  form_data: { amount: "20.50", purpose: "lunch" },
  instructions: "Fill in what you have spent.",
};

let answers = 0;

const agent: Agent = {
  card: {
    name: "Rows",
    description: "Does what the first word says.",
    version: "7.1.0",
    provider: { organization: "The Makers", url: "https://makers.example" },
    defaultInputModes: ["text/plain", "image/png"],
    defaultOutputModes: ["text/markdown"],
  },
  async *execute(turn) {
    const [first] = turn.text.split(" ");
    if (first === "slow") {
      await step();
      yield working("Reading page 3 of 9");
      await step();
    } else if (first === "form") {
      yield inputRequired({ parts: [{ data: old }] });
      return;
    } else if (first === "modes") yield artifact({ name: "modes", text: turn.acceptedOutputModes.join(" + ") });
    else if (first === "differ") yield artifact({ name: "answer", text: `call ${++answers}` });
    else if (first === "parts") yield artifact({ name: "parts", text: JSON.stringify(turn.parts) });
    yield completed();
  },
};

beforeAll(async () => {
  buildConsole();
  browser = await launch();
  opened = await openConsole(browser, { agent: join(root, "test/fixtures/agents/content.mjs") });
  page = opened.page;
  other = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: false, push: { allowHttp: true } });
  otherUrl = `http://127.0.0.1:${other.port}`;
});

afterAll(async () => {
  expect(opened.foreign).toEqual([]);
  expect(opened.faults).toEqual([]);
  await opened?.close();
  await closeWindows(browser);
  await other?.close();
});

describe("a message", () => {
  it("is shown before the agent answers, then what the agent does, by role", async () => {
    await talkTo(opened, otherUrl);
    await boxOf(page).fill("slow");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await lastOf(page).getByText("slow").waitFor(PATIENCE);
    expect(await boxOf(page).inputValue()).toBe("");
    await expect.poll(() => lastOf(page).textContent()).toContain("Yousl");
    await lastOf(page)
      .getByText(/Sending…|Working…/)
      .waitFor(PATIENCE);
    go();
    await lastOf(page).getByText("Reading page 3 of 9").first().waitFor(PATIENCE);
    expect(await axeFindings(page)).toEqual([]);
    go();
    await reaches(page, "Completed");
    expect(await lastOf(page).getByText("Working…").count()).toBe(0);
  });

  it("takes a file along by its URL, which only the agent reads", async () => {
    await talkTo(opened, otherUrl);
    await page.getByRole("button", { name: "Attach a file by its URL" }).click();
    const field = page.getByRole("textbox", { name: "URL of the file" });
    await field.fill("javascript:alert(1)");
    await field.press("Enter");
    expect(await page.getByRole("button", { name: "Attach", exact: true }).isDisabled()).toBe(true);
    await field.fill("https://example.org/a/report.pdf?x=1");
    expect(await axeFindings(page)).toEqual([]);
    await field.press("Enter");
    await page.getByRole("button", { name: /^Remove https:\/\/example\.org/ }).waitFor(PATIENCE);
    const sent = page.waitForRequest((request) => /SendStreamingMessage|message:stream/.test(request.postData() ?? ""));
    await tell(page, "parts");
    expect((await sent).postData()).toMatch(/"url":"https:\/\/example\.org\/a\/report\.pdf\?x=1"/);
    expect((await sent).postData()).toContain('"filename":"report.pdf"');
    expect(await lastOf(page).locator("figure").textContent()).toContain("https://example.org/a/report.pdf?x=1");
    expect(opened.foreign).toEqual([]);
  });

  it("asks for the types of answers that the conversation accepts, after a reload too", async () => {
    await talkTo(opened, otherUrl);
    await page.getByRole("button", { name: "Types of the answers" }).click();
    await page.getByLabel("Types of answers to ask for").fill("image/*, text/plain");
    expect(await axeFindings(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await fitsIn(page)).toBe(true);
    await page.setViewportSize({ width: 1280, height: 900 });
    await tell(page, "modes");
    expect(await lastOf(page).locator("figure").textContent()).toContain("image/* + text/plain");
    await page.reload();
    await boxOf(page).waitFor(PATIENCE);
    await tell(page, "modes");
    expect(await lastOf(page).locator("figure").textContent()).toContain("image/* + text/plain");
    // The requested types are visible.
    await page.getByLabel("Types of answers to ask for").fill("");
    await tell(page, "modes");
    expect(await lastOf(page).locator("figure").textContent()).not.toContain("image");
  });
});

describe("a form of the first samples", () => {
  it("has its title, instructions, defaults, and an input for each format", async () => {
    await talkTo(opened, otherUrl);
    await tell(page, "form", "Input required");
    await page.getByText("Fill in what you have spent.").waitFor(PATIENCE);
    await page.getByRole("group", { name: "An expense" }).waitFor(PATIENCE);
    const typeOf = (name: string): Promise<string | null> => page.getByLabel(name).last().getAttribute("type");
    const types = { Date: "date", Amount: "number", Mail: "email", Time: "time", Page: "url", Code: "password" };
    for (const [name, type] of Object.entries({ ...types, Count: "number", Purpose: "text" }))
      expect([name, await typeOf(name)]).toEqual([name, type]);
    expect(await page.getByLabel("Amount").last().inputValue()).toBe("20.50");
    expect(await page.getByLabel("Purpose").last().getAttribute("aria-required")).toBe("true");
    await page.getByText("Where the receipt goes.").waitFor(PATIENCE);
    await page.getByText("Mail (optional)").waitFor(PATIENCE);
    expect(await axeFindings(page)).toEqual([]);
    await page.getByLabel("Purpose").last().fill("");
    await lastOf(page).getByRole("button", { name: "Send", exact: true }).click();
    // Each error is at its field, also for screen readers.
    for (const name of ["Date", "Purpose"]) {
      const field = page.getByLabel(name).last();
      await expect.poll(() => field.getAttribute("aria-invalid"), PATIENCE).toBe("true");
      const id = await field.getAttribute("aria-describedby");
      expect(await page.locator(`[id="${id}"]`).textContent()).toBe("Please fill this in.");
    }
    expect(await page.getByLabel("Amount").last().getAttribute("aria-invalid")).toBe("false");
    await page.getByText("2 fields need a change").waitFor(PATIENCE);
  });

  it("leaves a card of what was sent", async () => {
    await page.getByLabel("Purpose").last().fill("dinner");
    await page.getByLabel("Date").last().fill("2027-05-02");
    await page.getByLabel("Count").last().fill("3");
    await lastOf(page).getByRole("button", { name: "Send", exact: true }).click();
    await expect.poll(() => lastOf(page).textContent(), PATIENCE).toMatch(/SentDate2027-05-02Amount20\.50/);
    expect(await lastOf(page).textContent()).toContain("Count3");
    expect(await lastOf(page).textContent()).toContain("Purposedinner");
  });

  it("has the errors that the agent finds at their fields", async () => {
    await talkTo(opened);
    await tell(page, "form", "Input required");
    const field = (name: string) => page.getByLabel(name, { exact: false }).last();
    await field("Day").fill("2027-05-02");
    await field("Class").selectOption({ label: "first" });
    // The page leaves this pattern to the agent.
    await field("Code").fill("b");
    await lastOf(page).getByRole("button", { name: "Send", exact: true }).click();
    await expect.poll(() => field("Code").getAttribute("aria-invalid"), PATIENCE).toBe("true");
    expect(await field("Class").getAttribute("aria-invalid")).toBe("false");
    expect(await field("Code").isEnabled()).toBe(true);
  });
});

describe("an answer", () => {
  it("with an image has it in its place, from the bytes of the agent", async () => {
    await talkTo(opened);
    await tell(page, "png");
    const width = `[...document.querySelectorAll("article img[src^='blob:']")].at(-1)?.naturalWidth`;
    await expect.poll(() => page.evaluate(width), PATIENCE).toBe(1);
  });

  it("that differs by the interface is compared, with its time and bytes", async () => {
    await opened.go(`agent?url=${encodeURIComponent(otherUrl)}&tab=bindings`);
    await page.getByLabel("Message").fill("differ");
    await page.getByRole("button", { name: "Send over all" }).click();
    await page.getByText("The answers differ.").waitFor({ timeout: 60_000 });
    const row = page.locator("main tbody tr").filter({ hasText: "Differs" }).first();
    expect(await row.textContent()).toMatch(/\d m?s.*\d k?B/s);
    await row.getByRole("button", { name: "Show the difference" }).click();
    await expect.poll(() => page.locator("main mark").count(), PATIENCE).toBeGreaterThan(0);
  });
});

describe("an agent's entry and card", () => {
  it("name all of the agent: URL, version, description, maker, types, streams and notifications", async () => {
    await opened.go(`agent?url=${encodeURIComponent(otherUrl)}`);
    await page.getByRole("heading", { name: "Rows", level: 1 }).waitFor(PATIENCE);
    const card = await page.locator("main").textContent();
    const parts = ["The Makers", "text/plain, image/png", "text/markdown", "Streams", "Push notifications", "7.1.0"];
    for (const part of parts) expect(card).toContain(part);
    await page.getByRole("button", { name: "Keep in the list" }).click();
    await opened.go("agents");
    const entry = page.getByRole("list", { name: "Agents" }).getByRole("listitem").filter({ hasText: "Rows" });
    await entry.getByText("Reachable").waitFor(PATIENCE);
    for (const part of [otherUrl, "7.1.0", "Does what the first word says."])
      expect(await entry.textContent()).toContain(part);
    await page.reload();
    await entry.getByText("Reachable").waitFor(PATIENCE);
  });
});

describe("the frame", () => {
  it("lists its keys by ?, and each of them goes to its page", async () => {
    await opened.go("agents");
    await page.getByRole("heading", { name: "Agents", level: 1 }).waitFor(PATIENCE);
    await page.keyboard.press("Shift+?");
    const list = page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await list.waitFor(PATIENCE);
    expect(await axeFindings(page)).toEqual([]);
    const texts = await list.locator("dd").allTextContents();
    const keys = await list.locator("dt").allTextContents();
    for (const key of ["?", "/", "j", "k", "Enter", "Esc", "HomeEnd", "xSpace", "+-0", "Ctrl+Enter"])
      expect(keys).toContain(key);
    await page.keyboard.press("Escape");
    await list.waitFor({ ...PATIENCE, state: "detached" });
    const places = keys.flatMap((key, at) => (/^g\w$/.test(key) ? [[key[1] ?? "", texts[at] ?? ""] as const] : []));
    expect(places.length).toBeGreaterThan(7);
    for (const [key, text] of places) {
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      const name = text.replace("Go to ", "");
      await page.getByRole("heading", { name, level: 1 }).waitFor(PATIENCE);
    }
    // Typed keys are inserted as text.
    await opened.go("agents");
    await page.getByLabel("URL of an agent").fill("");
    await page.keyboard.type("g?t");
    expect(await page.getByLabel("URL of an agent").inputValue()).toBe("g?t");
  });

  it("has the theme of the system, a light and a dark one, which is kept", async () => {
    await page.emulateMedia({ colorScheme: "light" });
    await opened.go("agents");
    const button = page.getByRole("button", { name: /^Theme: / });
    await button.waitFor(PATIENCE);
    const ground = (): Promise<string> => page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    const light = await ground();
    await button.click();
    await page.getByRole("button", { name: "Theme: Light" }).waitFor(PATIENCE);
    await button.click();
    await page.getByRole("button", { name: "Theme: Dark" }).waitFor(PATIENCE);
    await expect.poll(ground).not.toBe(light);
    const dark = await ground();
    await page.reload();
    await button.waitFor(PATIENCE);
    expect(await ground()).toBe(dark);
    await button.click();
    await page.getByRole("button", { name: "Theme: As the system" }).waitFor(PATIENCE);
    await expect.poll(ground).toBe(light);
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(ground).toBe(dark);
    await page.emulateMedia({ colorScheme: null });
  });

  it("has two conversations and the exchanges in the address", async () => {
    await page.setViewportSize({ width: 1600, height: 900 });
    await talkTo(opened, otherUrl);
    await tell(page, "differ first");
    const first = new URL(page.url()).searchParams.get("conversation");
    await page.getByRole("link", { name: "New conversation" }).click();
    await talkTo(opened, otherUrl);
    await tell(page, "differ second");
    const second = new URL(page.url()).searchParams.get("conversation");
    await opened.go(`talk?conversation=${second}&beside=${first}`);
    for (const at of [0, 1]) await boxOf(page, at).waitFor(PATIENCE);
    await expect
      .poll(() => page.locator("[role=log]").allTextContents(), PATIENCE)
      .toEqual([expect.stringContaining("second"), expect.stringContaining("first")]);
    await opened.go(`talk?conversation=${second}&panel=raw`);
    await page.getByRole("list", { name: "Exchanges, newest first" }).waitFor(PATIENCE);
    await page.setViewportSize({ width: 1280, height: 900 });
  });
});

describe("the first paint", () => {
  it("waits for the files that the document names, and for the session", async () => {
    const context = await browser.newContext();
    const fresh = await context.newPage();
    const document = await fresh.goto(linkOf(opened.server));
    await fresh.getByRole("heading", { name: "Agents", level: 1 }).waitFor(PATIENCE);
    await fresh.waitForFunction("performance.getEntriesByName('first-contentful-paint').length === 1");
    const before = await fresh.evaluate<readonly { readonly name: string; readonly size: number }[]>(`(() => {
      const [{ startTime }] = performance.getEntriesByName("first-contentful-paint");
      return performance.getEntriesByType("resource").filter(({ responseEnd }) => responseEnd <= startTime)
        .map(({ name, encodedBodySize: size }) => ({ name, size }));
    })()`);
    const html = await document?.text();
    const code = before.filter(({ name }) => /\.(?:js|css)$/.test(name));
    // Loading takes one round trip for the document, one for these files, and those of the session.
    expect(code.map(({ name }) => name).filter((name) => !html?.includes(name.replace(/^.*\//, "")))).toEqual([]);
    expect(code.length).toBeLessThan(20);
    expect(code.reduce((sum, { size }) => sum + size, html?.length ?? 0)).toBeLessThan(150_000);
    const others = before.filter((each) => !code.includes(each) && !each.name.endsWith(".svg"));
    expect(others.map(({ name }) => name).filter((name) => !name.endsWith("/console/api/session"))).toEqual([]);
    expect(others.length).toBeLessThan(4);
    await context.close();
  });

  it("of a page leaves out what is loaded when it is used", async () => {
    const context = await browser.newContext();
    const fresh = await context.newPage();
    const files: string[] = [];
    fresh.on("response", (response) => files.push(response.url()));
    await fresh.goto(linkOf(opened.server));
    await fresh.getByRole("heading", { name: "Agents", level: 1 }).waitFor(PATIENCE);
    await fresh.waitForLoadState("networkidle");
    const code = files.filter((name) => /\.(?:js|css)$/.test(name));
    expect(
      code.filter((name) => /editor|form-view|surface|highlight|markdown|diff|tasks|talk-page/.test(name)),
    ).toEqual([]);
    expect(code.length).toBeLessThan(45);
    expect(await fresh.evaluate<number>("document.querySelectorAll('*').length")).toBeLessThan(400);
    await context.close();
  });
});
