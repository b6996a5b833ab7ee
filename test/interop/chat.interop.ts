import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { start } from "../../examples/web/server.js";
import { root } from "../e2e/support/build.js";
import { launch } from "./browser/chromium.js";
import { FrailProxy } from "./browser/frail-proxy.js";
import { succeed } from "./support/tool.js";

/** What the agent writes about a thing. */
const written = (about: string): string => `Of ${about} much could be said, and some of it has been. `.repeat(4);

let browser: Browser;
let example: Awaited<ReturnType<typeof start>>;

beforeAll(async () => {
  [browser, example] = [await launch(), await start(0, 0)];
});

afterAll(async () => {
  await browser?.close();
  await example?.stop();
});

it("the page is typed", async () => {
  await succeed("npx", ["--no-install", "tsc", "-p", "examples/web"], { cwd: root });
}, 120_000);

describe.each(["CONNECT", "GRPC-WEB", "JSONRPC", "HTTP+JSON"])("a chat page over %s", (binding) => {
  let page: Page;
  let proxy: FrailProxy;
  const failures: Error[] = [];

  beforeEach(async () => {
    proxy = new FrailProxy(example.agent);
    const agent = await proxy.listen();
    page = await browser.newPage();
    page.on("pageerror", (error) => failures.push(error));
    await page.goto(`${example.url}/?${new URLSearchParams({ agent, binding })}`);
    await page.waitForSelector("form");
  });

  afterEach(async () => {
    await page?.close();
    proxy?.close();
    expect(failures).toEqual([]);
  });

  const say = async (text: string): Promise<void> => {
    await page.fill("input", text);
    await page.click("button");
  };
  const last = () => page.locator("article").last();
  const text = async (): Promise<string> => (await last().locator("p").textContent()) ?? "";
  const phase = (name: string) => page.waitForSelector(`article:last-of-type[data-phase=${name}]`, { timeout: 30_000 });
  const until = (words: number) =>
    expect.poll(async () => (await text()).split(" ").length, { timeout: 30_000, interval: 20 }).toBeGreaterThan(words);

  it("shows an answer as it grows, whole through a network that is cut", async () => {
    await say("rivers");
    for (const words of [3, 10, 20]) {
      await until(words);
      proxy.cut();
    }
    await phase("done");
    expect(await text()).toBe(written("rivers"));
  });

  it("goes on after a reload", async () => {
    await say("trees");
    await until(5);
    await page.reload();
    await page.waitForSelector("article");
    await phase("done");
    expect(await text()).toBe(written("trees"));
    expect(await page.locator("article").count()).toBe(1);
  });

  it("answers what the agent asks, and stops it", async () => {
    await say("?");
    await phase("done");
    expect(await text()).toBe("What shall I write about?");
    await say("stones");
    await until(3);
    await page.click("button");
    await expect.poll(() => page.locator("button").textContent(), { timeout: 30_000 }).toBe("Send");
    expect(await text()).not.toBe(written("stones"));
  });
});
