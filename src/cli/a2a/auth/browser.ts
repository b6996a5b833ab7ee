import { spawn } from "node:child_process";

/** Opens a page of the web in the user's browser. A missing browser is not an error, since the page is printed too. */
export function openInBrowser(page: URL): void {
  const [command = "", ...args] =
    process.platform === "darwin"
      ? ["open"]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler"]
        : ["xdg-open"];
  // The browser and its pages have no use for the credentials of this program.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("A2ACLI_")));
  spawn(command, [...args, page.href], { stdio: "ignore", detached: true, env })
    .on("error", () => {})
    .unref();
}
