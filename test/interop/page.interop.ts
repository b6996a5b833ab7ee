import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PartInput } from "../../src/events.js";
import { type Agent, artifact, completed, createServer, inputRequired } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { Gates } from "../support/gates.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { cache } from "./support/tool.js";

const home = new Home();
const pictures = join(cache, "page");
let browser: Browser;
let server: ServerProcess;

beforeAll(async () => {
  mkdirSync(pictures, { recursive: true });
  browser = await launch();
  server = await home.start();
});

afterAll(async () => {
  await closeWindows(browser);
  await home.leave();
});

const sizes = [
  { width: 360, colorScheme: "light" },
  { width: 360, colorScheme: "dark" },
  { width: 1280, colorScheme: "light" },
  { width: 1280, colorScheme: "dark" },
] as const;

/** Sends a message, and waits until the page shows its final state. */
async function talk(page: Page, text: string, state: string): Promise<void> {
  await page.fill("#text", text);
  await page.click("#go");
  const last = `[...document.querySelectorAll("#talk .state")].at(-1)?.textContent`;
  // Evaluated from outside, because the page's policy forbids evaluating text as code.
  const shown = (): Promise<unknown> => page.evaluate(`document.querySelector("#go").disabled || ${last}`);
  await expect.poll(shown, { timeout: 20_000 }).toBe(state);
}

describe.each(sizes)("the page at $width pixels, $colorScheme", ({ width, colorScheme }) => {
  it("shows the agent, talks to it, and loads nothing from elsewhere", async () => {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
    const page = await context.newPage();
    const asked: string[] = [];
    const faults: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("console", (message) => void (message.type() === "error" && faults.push(message.text())));
    page.on("pageerror", (error) => faults.push(String(error)));
    await page.goto(server.url);
    expect(await page.title()).not.toBe("");
    await talk(page, "stream 3", "completed");
    expect(await page.textContent("#talk")).toContain("3");
    await talk(page, "ask Which one?", "input required");
    expect(await page.textContent("#talk")).toContain("Which one?");
    await talk(page, "say the red one", "completed");
    // The earlier question of the continued task is not shown again.
    expect((await page.textContent("#talk"))?.match(/Which one\?/g)).toHaveLength(2);
    expect(await page.textContent("#now")).toBe("completed");
    expect(await page.getAttribute("#log", "aria-busy")).toBe("false");
    await page.screenshot({ path: join(pictures, `${width}-${colorScheme}.png`), fullPage: true });
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    expect(asked.filter((url) => !url.startsWith(server.url) && !url.startsWith("data:"))).toEqual([]);
    expect(faults).toEqual([]);
    await context.close();
  });
});

describe("the page's box", () => {
  it("needs no mouse: fields and buttons have the focus one after the other, and Enter sends", async () => {
    const page = await browser.newPage();
    await page.goto(server.url);
    const focused = (): Promise<unknown> =>
      page.evaluate("document.activeElement.id || document.activeElement.textContent");
    const order: unknown[] = [];
    for (let i = 0; i < 5; i++) {
      await page.keyboard.press("Tab");
      order.push(await focused());
    }
    expect(order).toEqual(["text", "Credentials", "go", "Events as they came", "echo hello"]);
    await page.keyboard.press("Enter");
    expect(await focused()).toBe("text");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.textContent("#now"), { timeout: 20_000 }).toBe("completed");
    expect(await page.textContent("#talk")).toContain("hello");
    expect(await focused()).toBe("text");
    await page.close();
  });

  it("cancels a task that goes on", async () => {
    const page = await browser.newPage();
    await page.goto(server.url);
    await page.fill("#text", "wait 60000");
    await page.click("#go");
    await page.waitForSelector("#talk .state");
    await page.click("#cancel");
    await expect.poll(() => page.textContent("#talk li:last-child .state"), { timeout: 20_000 }).toBe("canceled");
    await page.close();
  });
});

/** Serves an agent in this process, so that the test can reach it, and opens its page. */
async function open(agent: Agent): Promise<{ page: Page; faults: string[]; close: () => Promise<void> }> {
  const own = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: false });
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on("console", (message) => void (message.type() === "error" && faults.push(message.text())));
  page.on("pageerror", (error) => faults.push(String(error)));
  await page.goto(`http://127.0.0.1:${own.port}`);
  const close = async (): Promise<void> => {
    await page.close();
    await own.close({ graceMs: 0 });
  };
  return { page, faults, close };
}

describe("files of an answer", () => {
  const markup = "<svg xmlns='http://www.w3.org/2000/svg'><script>top.ran = 1</script></svg>";
  const files: readonly PartInput[] = [
    { raw: new Uint8Array([0, 251, 255, 10]), filename: "../a\u202egnp.exe", mediaType: "image/png" },
    { raw: Buffer.from(markup), filename: "drawing.svg", mediaType: "image/svg+xml" },
    { raw: Buffer.from("<script>top.ran = 1</script>"), mediaType: "text/html" },
    { raw: new Uint8Array(), filename: "empty.txt", mediaType: "text/plain" },
    { url: "https://files.example/report.pdf", filename: "report.pdf", mediaType: "application/pdf" },
    { url: "javascript:top.ran=1", filename: "evil" },
    { url: "data:text/html,<script>top.ran=1</script>" },
    { url: "file:///etc/passwd" },
  ];
  const agent: Agent = {
    card: { name: "Files", description: "Gives files.", version: "1.0.0", skills: [] },
    async *execute() {
      yield artifact({ parts: files });
      yield completed();
    },
  };

  it("are downloads with a safe name, and links to the web alone", async () => {
    const { page, faults, close } = await open(agent);
    await talk(page, "files", "completed");
    const links = page.locator("#talk a[download]");
    const saved: [string, Buffer][] = [];
    for (const link of await links.all()) {
      const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
      saved.push([download.suggestedFilename(), readFileSync(await download.path())]);
    }
    const bytes = files.flatMap((file) => ("raw" in file && file.raw !== undefined ? [Buffer.from(file.raw)] : []));
    const names = ["_a_gnp.exe", "drawing.svg", "file", "empty.txt"];
    expect(saved).toEqual(names.map((name, at) => [name, bytes[at]]));
    const others = await page.locator("#talk a:not([download])").all();
    expect(await Promise.all(others.map((link) => link.getAttribute("href")))).toEqual([
      "https://files.example/report.pdf",
    ]);
    expect(await page.textContent("#talk")).toContain("javascript:top.ran=1");
    expect(faults).toEqual([]);
    await close();
  });

  it("are no documents where they are opened beside the page, and are given back with the conversation", async () => {
    const { page, close } = await open(agent);
    await page.evaluate(`types = []; revoked = [];
      const { createObjectURL, revokeObjectURL } = URL;
      URL.createObjectURL = (blob) => { types.push(blob.type); return createObjectURL(blob) };
      URL.revokeObjectURL = (url) => { revoked.push(url); revokeObjectURL(url) }`);
    await talk(page, "files", "completed");
    const saved = "application/octet-stream";
    expect(await page.evaluate("types")).toEqual(["image/png", saved, saved, "text/plain"]);
    const made = await page.evaluate(`[...document.querySelectorAll("#talk a[download]")].map(({ href }) => href)`);
    await page.click("#new");
    expect(await page.evaluate("revoked")).toEqual(made);
    await close();
  });
});

describe("a reload of the page", () => {
  const agent: Agent = {
    card: { name: "Slow", description: "Waits for the test.", version: "1.0.0", skills: [] },
    async *execute(turn) {
      if (turn.text === "ask") return yield inputRequired("Which one?");
      if (turn.text === "many") {
        for (let i = 0; i < 40; i++) yield artifact({ id: `${i}`, name: `n${i}.`, text: "x".repeat(10_000) });
        return yield completed();
      }
      const [artifactId, more] = [turn.message.messageId, new Uint8Array(100_000)];
      yield artifact({ id: artifactId, text: "one " });
      yield artifact({ id: "files", parts: [{ raw: more, filename: "large.bin" }, { raw: new Uint8Array(3) }] });
      await gates.pass(turn.text, turn.signal);
      yield artifact({ id: artifactId, text: "two", append: true });
      yield completed("All done.");
    },
  };
  const gates = new Gates();

  it("keeps what was said, and follows the task", async () => {
    const { page, faults, close } = await open(agent);
    await talk(page, "ask", "input required");
    await page.reload();
    expect(await page.textContent("#talk")).toBe("Youasksubmittedinput requiredWhich one?");
    await page.click("#who summary");
    await page.fill("#auth", "Bearer hidden");
    await page.fill("#text", "go");
    await page.click("#go");
    await page.waitForSelector("#talk a[download]");
    for (let i = 0; i < 2; i++) {
      await page.reload();
      await page.waitForSelector("#talk a[download] >> nth=1");
    }
    expect(await page.textContent("#now")).toBe("working");
    gates.open("go");
    await expect.poll(() => page.textContent("#now"), { timeout: 20_000 }).toBe("completed");
    const talked = await page.textContent("#talk");
    expect(talked).toMatch(/^Youasksubmittedinput requiredWhich one\?Yougo.*one two.*completedAll done\.$/);
    expect(talked?.match(/one two/g)).toHaveLength(1);
    await page.reload();
    // The page does not store the bytes of the large file.
    expect(await page.textContent("#talk")).toBe(talked?.replace("100000 bytes", "(not kept)"));
    expect(await page.evaluate("JSON.stringify(sessionStorage)")).not.toContain("hidden");
    await page.click("#new");
    expect(await page.evaluate("sessionStorage.length")).toBe(0);
    await page.reload();
    expect([await page.textContent("#talk"), await page.isVisible("#new")]).toEqual(["", false]);
    expect(faults).toEqual([]);
    await close();
  });

  it("keeps the latest of a long conversation, and the conversation itself", async () => {
    const { page, close } = await open(agent);
    await talk(page, "many", "completed");
    const [before] = Object.values(await stored(page));
    await page.reload();
    const talked = (await page.textContent("#talk")) ?? "";
    expect([talked.includes("n1."), talked.includes("n39."), talked.includes("completed")]).toEqual([
      false,
      true,
      true,
    ]);
    const [kept] = Object.values(await stored(page));
    expect(kept?.length).toBeLessThan(300_000);
    expect(kept).toBe(before);
    await close();
  });

  it("follows a task once the credentials for it are there", async () => {
    const { page, close } = await open(agent);
    await page.fill("#text", "first");
    await page.click("#go");
    await page.waitForSelector("#talk a[download]");
    let status = 401;
    await page.route("**/tasks/*", (route) => (status === 0 ? route.continue() : route.fulfill({ status, json: {} })));
    await page.reload();
    await expect.poll(() => page.textContent("#talk li:last-child")).toBe("The server answered with 401.");
    status = 0;
    gates.open("first");
    await page.fill("#auth", "Bearer given");
    await page.press("#auth", "Tab");
    await expect.poll(() => page.textContent("#now")).toBe("completed");
    await close();
  });
});

/** The contents of the page's session storage. */
async function stored(page: Page): Promise<Record<string, string>> {
  return (await page.evaluate("({ ...sessionStorage })")) as Record<string, string>;
}
