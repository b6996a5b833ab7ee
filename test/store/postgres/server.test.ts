import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { programs } from "./server.js";

it.skipIf(programs() === undefined)(
  "thePostgres() ends after its process was killed, and leaves no files",
  async () => {
    const server = JSON.stringify(new URL("server.ts", import.meta.url).href);
    const script = `console.log((await import(${server})).thePostgres().folder); process.kill(process.pid, "SIGKILL");`;
    const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script]);
    let folder = "";
    child.stdout.on("data", (chunk) => (folder += String(chunk)));
    expect(await once(child, "close")).toEqual([null, "SIGKILL"]);
    expect(folder).toMatch(/parley-postgres-/);
    await expect.poll(() => existsSync(folder.trim())).toBe(false);
  },
);
