import { readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { AuditRecord } from "../../src/index.js";
import { probe, ready, type Served, workplaces } from "./cli.js";

// Every test starts processes, which takes time on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const place = workplaces();
const ports = ["--port", "0", "--grpc-port", "0", "--store", "memory"];
const serve = (...args: string[]): Promise<Served> => ready(place.run(["serve", probe, ...ports, ...args]));

const recordsIn = (file: string): AuditRecord[] => {
  const lines = readFileSync(join(place.path, file), "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as AuditRecord);
};
const eventsIn = (file: string): string[] => recordsIn(file).map(({ event }) => event);

describe("parley serve --audit", () => {
  it("writes a file of its own, which its owner alone may read, from the start to the end", async () => {
    const server = await serve("--audit", "audit.log");
    await fetch(`${server.url}/tasks/nobody-has-this`);
    expect(recordsIn("audit.log")).toMatchObject([
      { event: "server.started", outcome: "success" },
      { event: "access.denied", reason: "TASK_NOT_FOUND", address: "127.0.0.1" },
    ]);
    expect(statSync(join(place.path, "audit.log")).mode & 0o777).toBe(0o600);
    server.child.kill("SIGTERM");
    await server.exited;
    expect(eventsIn("audit.log")).toEqual(["server.started", "access.denied", "server.stopped"]);
    expect(server.stderr()).not.toContain("access.denied");
  });

  it("opens the file again at SIGHUP, which does not end the server", async () => {
    const server = await serve("--audit", "audit.log");
    renameSync(join(place.path, "audit.log"), join(place.path, "audit.log.1"));
    server.child.kill("SIGHUP");
    await expect
      .poll(async () => {
        await fetch(`${server.url}/tasks/nobody-has-this`);
        return eventsIn("audit.log");
      })
      .toContain("access.denied");
    expect(eventsIn("audit.log.1")[0]).toBe("server.started");
  });

  it("stands in the log, as a channel of its own, at info, where it is not said; off is none", async () => {
    const [server, off] = [await serve(), await serve("--audit", "off")];
    for (const { url } of [server, off]) await fetch(`${url}/tasks/nobody-has-this`);
    await expect.poll(server.stderr).toContain('"channel":"audit"');
    expect(server.stderr()).toContain('"event":"access.denied"');
    expect(off.stderr()).not.toContain("access.denied");
  });

  it("says at the start that a file cannot be written", async () => {
    const { exited, stderr } = place.run(["serve", probe, ...ports, "--audit", "no/such/folder"]);
    expect(await exited).toBe(2);
    expect(stderr()).toContain("--audit: cannot write no/such/folder");
  });
});
