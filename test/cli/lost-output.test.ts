import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { probe, ready, type Served, watch, workplaces } from "./cli.js";

vi.setConfig({ testTimeout: 60_000 });

const place = workplaces();
const main = fileURLToPath(new URL("../../dist/src/cli/main.js", import.meta.url));
const ports = ["--port", "0", "--grpc-port", "0", "--store", "memory"];

/** Starts a server whose output the shell redirects. */
function serveInto(redirection: string, ...args: string[]): Promise<Served> {
  const shell = ["-c", `exec "$@" ${redirection}`, "sh", process.execPath, "--max-old-space-size=300", main];
  return ready(place.keep(watch(spawn("sh", [...shell, "serve", probe, ...ports, ...args], { cwd: place.path }))));
}

/** Makes several calls, each of which is logged. */
async function call(server: Served, times: number): Promise<void> {
  for (let i = 0; i < times; i++) expect((await fetch(`${server.url}/tasks/nobody-has-this`)).status).toBe(404);
}

describe.skipIf(!existsSync("/dev/full"))("parley serve whose log has no room", () => {
  it.each(["json", "pretty"])("serves on, and ends in order (%s)", async (format) => {
    const server = await serveInto("2>/dev/full", "--log-format", format, "--access-log");
    await call(server, 20);
    server.child.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  });
});

describe.skipIf(process.platform === "win32")("parley serve whose reader is gone", () => {
  it.each(["json", "pretty"])("serves on, and ends in order (%s)", async (format) => {
    const server = await serveInto("", "--log-format", format, "--access-log");
    server.child.stderr?.destroy();
    server.child.stdout?.destroy();
    await call(server, 20);
    server.child.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  });
});

describe.skipIf(!existsSync("/dev/full"))("a command whose result is lost", () => {
  it("fails, and says why", async () => {
    const shell = ["-c", 'exec "$@" >/dev/full', "sh", process.execPath, main, "limits"];
    const { exited, stderr } = watch(spawn("sh", shell));
    expect(await exited).toBe(1);
    expect(stderr()).toMatch(/^parley: stdout: ENOSPC.*\n$/);
  });

  it("does not, where its reader wants no more", async () => {
    const shell = ["-c", '("$@"; echo "code $?" >&2) | head -n 1', "sh", process.execPath, main, "limits"];
    const { exited, stderr } = watch(spawn("sh", shell));
    expect(await exited).toBe(0);
    expect(stderr()).toBe("code 0\n");
  });
});
