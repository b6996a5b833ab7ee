import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connect } from "../../src/client/index.js";
import { answerIn } from "../../src/examine/recording/answer.js";
import { headLine, turnLine } from "../../src/examine/recording/format.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { closeWindows, launch } from "./browser/chromium.js";
import { axeFindings } from "./console/axe.js";
import { becomesStill, lookOf, withOneFont } from "./console/looks.js";
import { faultsOf, linkOf } from "./console/open.js";
import { fillReceiver } from "./console/receiver.js";

const home = new Home("--console");
/** Serves the agent of a replay, whose tasks are not in other pictures. */
const replayHome = new Home();
let browser: Browser;
let server: ServerProcess;
let taskId = "";
let contextId = "";
/** A recording whose second answer differs from the agent's. */
let recording = "";
let replayServer: ServerProcess;

beforeAll(async () => {
  browser = await launch();
  server = await home.start();
  const client = await connect(server.url);
  for (const text of ["stream 4 24 20", "ask Which colour do you mean?", "data", "file"]) {
    const { task } = await client.send(text);
    if (text.startsWith("stream")) [taskId, contextId] = [task?.id ?? "", task?.contextId ?? ""];
  }
  await client.send("fail").catch(() => {});
  await client.close();
  replayServer = await replayHome.start();
  recording = await recorded(replayServer.url);
});

afterAll(async () => {
  await closeWindows(browser);
  await home.leave();
  await replayHome.leave();
});

/** Records three turns with an agent. */
async function recorded(url: string): Promise<string> {
  const client = await connect(url);
  const lines = [headLine({ agent: "Probe", interface: { binding: "JSONRPC", version: "1.0", url } }, String)];
  for (const [text = "", was = text] of [["data"], ["echo one", "echo two"], ["ask Which colour?"]]) {
    const answer = await answerIn(await client.send(was));
    const message = { role: "ROLE_USER", parts: [{ text }] };
    lines.push(turnLine({ begins: true, message, answer, tookMs: 20 }, String));
  }
  await client.close();
  return lines.join("");
}

const sizes = [
  { width: 360, height: 740 },
  { width: 768, height: 900 },
  { width: 1_440, height: 900 },
];

interface LookedAt {
  readonly path: () => string;
  readonly shows: string;
  /** Runs before the page is complete. */
  readonly act?: (page: Page) => Promise<void>;
}

/** Pages by the names of their pictures, with an element that they show when they are complete. */
const pages: Readonly<Record<string, LookedAt>> = {
  agents: { path: () => "agents", shows: "text=Reachable" },
  agent: { path: () => `agent?url=${encodeURIComponent(server.url)}`, shows: "h1:has-text('Probe')" },
  interfaces: {
    path: () => `agent?url=${encodeURIComponent(server.url)}&tab=interfaces`,
    // The button is enabled when all interfaces have answered.
    shows: "button:enabled >> text=Ask all again",
  },
  talk: { path: () => `talk?agent=${encodeURIComponent(server.url)}&task=${taskId}`, shows: "text=Completed" },
  replay: { path: () => "recording", shows: "text=No recording is open." },
  replayed: {
    path: () => `recording?agent=${encodeURIComponent(replayServer.url)}`,
    shows: "text=different.",
    act: replayed,
  },
  receiver: { path: () => `receiver?agent=${encodeURIComponent(server.url)}`, shows: "[role=row] >> text=Refused" },
  notification: { path: () => "receiver?open=2", shows: "[role=dialog] >> text=Call the carrier" },
  tasks: { path: () => "operate/tasks", shows: "[role=row] >> text=Completed" },
  task: { path: () => `operate/tasks/${taskId}`, shows: "text=Completed" },
  log: { path: () => `operate/tasks/${taskId}?tab=log`, shows: "[role=grid] [role=row]" },
  inbox: { path: () => "operate/inbox", shows: "text=Which colour do you mean?" },
  conversations: { path: () => "operate/conversations", shows: "[role=row] >> nth=1" },
  conversation: { path: () => `operate/conversations/${contextId}`, shows: "text=Completed" },
  deliveries: { path: () => "operate/deliveries", shows: "text=No push notifications" },
  owners: { path: () => "operate/owners", shows: "[role=row] >> nth=1" },
  server: { path: () => "operate/server", shows: "text=Clients still speak" },
};

async function replayed(page: Page): Promise<void> {
  const buffer = Buffer.from(recording);
  await page.locator("input[type=file]").setInputFiles({ name: "colours.jsonl", mimeType: "", buffer });
  await page.getByRole("button", { name: "Replay", exact: true }).click();
}

const looks = sizes.flatMap((viewport) =>
  (["light", "dark"] as const).map((colorScheme) => ({ ...viewport, colorScheme })),
);

/** All looks, starting with a different one for each page, so that pages are also loaded in each look. */
const looksFrom = (first: number): typeof looks => looks.map((_, at) => looks[(first + at) % looks.length] as Look);

type Look = (typeof looks)[number];

describe("the console", () => {
  let context: BrowserContext;
  let page: Page;
  let url = "";
  let faults: readonly string[] = [];
  beforeAll(async () => {
    context = await browser.newContext({ locale: "en-GB", timezoneId: "Europe/Vienna" });
    await withOneFont(context);
    page = await context.newPage();
    faults = faultsOf(page);
    const link = linkOf(server);
    url = link.replace(/#.*/, "");
    await page.goto(link);
    await page.waitForSelector("#main h1");
    await fillReceiver(page);
  });
  afterAll(async () => {
    await context?.close();
    // The page requests an unknown task from each interface. Browsers report those answers.
    const own = faults.filter((each) => !/ 404 .*(?:\/unknown-[^/]*|A2AService\/GetTask)$/.test(each));
    expect(own, "errors in the browser's console").toEqual([]);
  });

  describe.each(Object.entries(pages))("shows %s as it did, and axe finds nothing", (name, { path, shows, act }) => {
    let isShown = false;

    it.each(looksFrom(Object.keys(pages).indexOf(name)))("at $width pixels, $colorScheme", async (look) => {
      const { colorScheme, ...viewport } = look;
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      if (!isShown) {
        await page.goto(new URL(path(), url).href);
        await act?.(page);
        await page.waitForSelector(shows);
        await page.waitForSelector("[role=status][aria-label=Loading]", { state: "detached" });
        await page.waitForTimeout(500);
      } else await becomesStill(page);
      // A retry loads the page again.
      isShown = false;
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "scrolls sideways").toBe(true);
      expect(await axeFindings(page)).toEqual([]);
      expect(await lookOf(page, `${name}-${viewport.width}-${colorScheme}`)).toBeUndefined();
      isShown = true;
    });
  });
});
