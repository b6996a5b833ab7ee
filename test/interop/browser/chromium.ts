import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { apt, hasApt } from "../support/tool.js";

const names = ["chromium", "chromium-browser", "google-chrome"];

/** The Chromium of this worker, shared by its test files, because each start takes seconds. */
let running: Promise<Browser> | undefined;

/** Returns the running Chromium, or starts it. Installs it if possible and necessary. */
export async function launch(): Promise<Browser> {
  const before = await running;
  if (before?.isConnected()) return before;
  running = start();
  return running;
}

/** Closes all windows. The browser ends with the worker. */
export async function closeWindows(browser: Browser | undefined): Promise<void> {
  for (const context of browser?.contexts() ?? []) await context.close();
}

async function start(): Promise<Browser> {
  return chromium.launch({
    executablePath: find() ?? (await install()),
    args: [
      // Tests may run as root, which has no sandbox, and they serve their own pages.
      "--no-sandbox",
      "--disable-gpu",
      // Separate processes for drawing and for each site cost more than they protect.
      "--in-process-gpu",
      "--disable-site-isolation-trials",
      "--disable-quic",
      "--no-first-run",
      // Background requests such as searches for updates would fail on a closed network.
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

function find(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find((path) => existsSync(path));
}

async function install(): Promise<string> {
  const missing = `There is no Chromium here (looked for ${names.join(", ")} in the PATH)`;
  if (!hasApt()) throw new Error(`${missing}, and only root can install it: apt-get install chromium`);
  try {
    await apt("chromium");
  } catch (cause) {
    throw new Error(`${missing}, and it cannot be installed: ${String(cause)}`, { cause });
  }
  const path = find();
  if (path === undefined) throw new Error(`${missing}, although its package has been installed.`);
  return path;
}
