import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { expect } from "vitest";
import { Home, type ServerProcess } from "../../e2e/support/server-process.js";

/** Pattern of the link that the server prints. */
const linkForm = /https?:\/\/\S+\/console\/#token=[\w-]+/g;

/** A server with the console, opened in a browser by its link. */
export interface OpenedConsole {
  readonly home: Home;
  readonly server: ServerProcess;
  readonly page: Page;
  /** URL of the console, with a trailing slash. */
  readonly url: string;
  /** Requests to other origins than the server's. */
  readonly foreign: readonly string[];
  /** Errors that the page or the browser reported. */
  readonly faults: readonly string[];
  /** Opens a page of the console by its path. */
  go(path: string): Promise<void>;
  close(): Promise<void>;
}

export interface OpenOptions extends BrowserContextOptions {
  /** Module of the agent. Default: the probe. */
  readonly agent?: string;
  /** More flags of `parley serve`. */
  readonly flags?: readonly string[];
  /** Fills the store at a path before the server starts. */
  readonly prepare?: (store: string) => Promise<void>;
}

/** Starts a server with the console, and opens it in a new window. */
export async function openConsole(browser: Browser, options: OpenOptions = {}): Promise<OpenedConsole> {
  const { agent, flags = [], prepare, ...window } = options;
  const home = new Home("--console", ...flags);
  if (agent !== undefined) home.agent = agent;
  await prepare?.(home.store);
  const server = await home.start();
  const link = linkOf(server);
  const url = link.replace(/#.*/, "");
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...window });
  const page = await context.newPage();
  const foreign: string[] = [];
  const faults = faultsOf(page);
  const { origin } = new URL(url);
  page.on("request", (request) => {
    if (/^(?:https?|wss?):/.test(request.url()) && new URL(request.url()).origin !== origin)
      foreign.push(request.url());
  });
  await page.goto(link);
  // The login page has a heading too.
  await page.waitForSelector("#main h1");
  return {
    ...{ home, server, page, url, foreign, faults },
    go: async (path) => void (await page.goto(new URL(path, url).href)),
    close: async () => {
      await context.close();
      await home.leave();
    },
  };
}

/** Collects errors that a page or the browser reports from now on. */
export function faultsOf(page: Page): string[] {
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(`${message.text()} ${message.location().url}`);
  });
  page.on("pageerror", (error) => faults.push(String(error)));
  return faults;
}

/** Returns the newest link that a server has printed. */
export function linkOf({ greeting, log }: Pick<ServerProcess, "greeting" | "log">): string {
  const link = [...`${greeting}\n${log}`.matchAll(linkForm)].at(-1)?.[0];
  expect(link, "the server prints a link to the console").toBeDefined();
  return link ?? "";
}
