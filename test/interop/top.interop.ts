import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { main } from "../cli/cli.js";
import { build } from "../e2e/support/build.js";
import { Home } from "../e2e/support/server-process.js";
import { installTmux, Terminal } from "./support/terminal.js";
import { run, succeed } from "./support/tool.js";

build();

const folder = mkdtempSync(join(tmpdir(), "parley-top-"));
const home = new Home("--admin", `unix:${join(folder, "admin.sock")}`);
const env = `PARLEY_ADMIN=unix:${join(folder, "admin.sock")}`;

beforeAll(async () => {
  await installTmux();
  const { url } = await home.start();
  for (const text of ["echo hi", "ask Which city?", "fail badly"]) {
    await succeed(process.execPath, [main, "send", "-a", url, "--async", text]);
  }
}, 300_000);

let terminal: Terminal | undefined;
afterEach(() => terminal?.close());
afterAll(async () => {
  await home.leave();
  rmSync(folder, { recursive: true });
});

/** Opens `parley top` in a terminal. Waits for its second sample. */
async function opened(size: { columns: number; rows: number }, more = ""): Promise<Terminal> {
  const opening = new Terminal(`${env} ${more} ${process.execPath} ${main} top; echo "exit $?"; exec sh`, size);
  terminal = opening;
  await opening.shows(/^Calls +[\d.]+\/s/m);
  return opening;
}

const widest = (screen: string): number => Math.max(...screen.split("\n").map((line) => line.length));

describe("parley top in a terminal", { timeout: 120_000 }, () => {
  it.each([80, 200])("fits %i columns, and leaves the screen as it was", async (columns) => {
    const top = await opened({ columns, rows: 20 });
    expect(widest(top.screen)).toBeLessThanOrEqual(columns);
    expect(top.screen).toMatch(/^TASK +STATE +AGE/m);
    expect(top.screen).toMatch(/input-required/);
    top.keys("q");
    await top.shows("exit 0");
    expect(top.screen).not.toContain("Readiness");
  });

  it("follows a resize", async () => {
    const top = await opened({ columns: 200, rows: 30 });
    top.resize(60, 12);
    await expect.poll(() => widest(top.screen), { timeout: 30_000 }).toBeLessThanOrEqual(60);
    await top.shows(/^TASK +STATE/m);
    expect(top.screen.split("\n").length).toBeLessThanOrEqual(12);
    top.keys("C-c");
    await top.shows("exit 0");
  });

  it("has no colours with NO_COLOR", async () => {
    // Green, in the terminal's form.
    const colour = "\u001b[32m";
    expect((await opened({ columns: 80, rows: 20 })).all(true)).toContain(colour);
    terminal?.close();
    expect((await opened({ columns: 80, rows: 20 }, "NO_COLOR=1")).all(true)).not.toContain(colour);
  });

  it("prints one snapshot without control characters in a pipe", async () => {
    const { code, stdout } = await run("sh", ["-c", `${env} ${process.execPath} ${main} top | cat`]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Readiness +ready$/m);
    expect(stdout).not.toMatch(/[^\P{Cc}\n]/u);
  });

  it("says that the server is gone, and ends at Ctrl-C", async () => {
    const other = new Home("--admin", `unix:${join(folder, "other.sock")}`);
    try {
      await other.start();
      const top = await opened({ columns: 100, rows: 20 }, `PARLEY_ADMIN=unix:${join(folder, "other.sock")}`);
      await other.leave();
      await top.shows("cannot be reached");
      top.keys("C-c");
      await top.shows("exit 0");
    } finally {
      await other.leave();
    }
  });

  it("fails in one line if its token is refused, and leaves the terminal as it was", async () => {
    const tokens = join(folder, "tokens");
    writeFileSync(tokens, `ops read ${"a".repeat(64)}\n`, { mode: 0o600 });
    const guarded = new Home("--admin", `unix:${join(folder, "guarded.sock")}`, "--admin-tokens", tokens);
    try {
      await guarded.start();
      const more = `PARLEY_ADMIN=unix:${join(folder, "guarded.sock")} PARLEY_ADMIN_TOKEN=wrong`;
      terminal = new Terminal(`${more} ${process.execPath} ${main} top; echo "exit $?"; exec sh`, { columns: 160 });
      await terminal.shows("exit 4");
      expect(terminal.screen).toMatch(/^parley: .+PARLEY_ADMIN_TOKEN or --admin-token-file\nexit 4/);
    } finally {
      await guarded.leave();
    }
  });
});
