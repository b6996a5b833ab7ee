import { spawn } from "node:child_process";
import { expect } from "vitest";
import { allPages, asPrinted, type Block, blocksOf, type Command, shownAs } from "./pages.js";

/** The environment of a page's commands. */
export interface Shell {
  /** Working directory. */
  readonly cwd: string;
  /** Ports on the page, with those of the running server. */
  readonly ports: Readonly<Record<string, string>>;
  /** Environment variables of the commands. */
  readonly env: Readonly<Record<string, string>>;
}

/** Console blocks of the README and docs in which all commands match, by page and line. */
export const blocksTyping = (command: RegExp): readonly [string, Block][] =>
  allPages()
    .filter((page) => page === "README.md" || page.startsWith("docs/"))
    .flatMap(blocksOf)
    .filter(
      ({ commands }) => commands.length > 0 && commands.every((one) => one.folder === "" && command.test(one.command)),
    )
    .map((block) => [`${block.page}:${block.line}`, block]);

/** Output that continues after the part that the page shows. */
const isLonger = (prints: string): boolean => prints.trimEnd().endsWith("\n…");

/** Runs a command of a page in a shell with other ports. Compares its output with the page. */
export async function follow({ command, prints }: Command, { cwd, ports, env }: Shell): Promise<string> {
  const line = command.replace(/\blocalhost:(\d+)/g, (address, port) => {
    const own = ports[port];
    if (own === undefined) throw new Error(`Nothing listens at ${address} in: ${command}`);
    return `localhost:${own}`;
  });
  // `exec` replaces the shell, so that a signal reaches the command.
  const child = spawn("bash", ["-c", `exec ${line}`], { cwd, env: { ...process.env, ...env } });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    if (isLonger(prints) && shownAs(prints).test(asPrinted(stdout))) child.kill();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  await new Promise((resolve) => child.once("close", resolve));
  const told = `${line}\n${stdout}${stderr}`;
  if (!child.killed) expect(child.exitCode, told).toBe(0);
  if (prints.trim() !== "") expect(asPrinted(stdout), told).toMatch(shownAs(prints));
  return stdout;
}
