import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { apt, hasApt } from "../support/tool.js";

const names = ["chromium", "chromium-browser", "google-chrome"];

/** Starts the machine's Chromium, which is installed before where that is possible. */
export async function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: find() ?? (await install()),
    args: [
      // Tests may run as root, where there is no sandbox, and they serve their pages themselves.
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      // It would look for updates and more, in vain where the network is closed.
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
