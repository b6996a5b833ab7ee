import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { npmStart, probe, type Run, ready, type Served, workplaces } from "./cli.js";
import { hasTask, send, stateOf } from "./sending.js";

const anyPort = ["--port", "0", "--grpc-port", "0"];

// Every test starts processes, which takes time on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const place = workplaces();

const parley = (args: readonly string[], env?: Record<string, string>): Run => place.run(args, env);

const serve = (args: readonly string[] = [], env?: Record<string, string>): Promise<Served> =>
  ready(parley(["serve", probe, ...anyPort, ...args], env));

describe("parley serve and a file that another server has open", () => {
  const store = ["--store", "tasks.db"];

  it("refuses it in one line", async () => {
    const first = await serve(store);
    const second = parley(["serve", probe, ...anyPort, ...store]);
    expect(await second.exited).toBe(2);
    expect(second.stderr()).toMatch(/^parley: Cannot open \S+tasks\.db: process \d+ has it open .*--shared`\)\.\n$/);
    expect(second.stderr()).toContain(`process ${first.child.pid} `);
    expect((await send(first.url, "echo hello")).state).toBe("TASK_STATE_COMPLETED");
    first.child.kill("SIGKILL");
    await first.exited;
    await serve(store);
  });

  it("shares it when both say so, on the command line or in the environment", async () => {
    const [one, two] = [await serve([...store, "--shared"]), await serve(store, { PARLEY_SHARED: "true" })];
    const { id } = await send(one.url, "echo hello");
    expect(await stateOf(two.url, id)).toBe("TASK_STATE_COMPLETED");
    // Each start waits two seconds for the lock.
    for (const off of ["false", "0", "No", "off", ""]) {
      const alone = parley(["serve", probe, ...anyPort, ...store], { PARLEY_SHARED: off });
      expect([off, await alone.exited]).toEqual([off, 2]);
      expect(alone.stderr()).toContain("as one of several that share it");
    }
  });
});

describe("a signal", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("%s ends the server in order", async (signal) => {
    const server = await serve(["--store", "memory"]);
    const running = send(server.url, "wait 500");
    await hasTask(server.url);
    server.child.kill(signal);
    expect((await running).state).toBe("TASK_STATE_COMPLETED");
    expect(await server.exited).toBe(0);
  });

  it("gives running work the grace that was set, and no more", async () => {
    const server = await serve(["--store", "memory"], { PARLEY_GRACE: "0" });
    const { id } = await send(server.url, "wait 60000", true);
    expect(await stateOf(server.url, id)).toBe("TASK_STATE_WORKING");
    server.child.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  });

  it.each(["SIGTERM", "SIGINT"] as const)(
    "(%s) reaches the server through npm, which waits for its end",
    async (signal) => {
      const store = join(place.path, "npm.db");
      const server = await ready(place.keep(npmStart([...anyPort, "--store", store])));
      const running = send(server.url, "wait 500");
      await hasTask(server.url);
      server.child.kill(signal);
      expect((await running).state).toBe("TASK_STATE_COMPLETED");
      expect(await server.exited).toBe(0);
      await expect(fetch(server.url)).rejects.toThrow();
    },
  );

  it("ends it at once when repeated, and the next start continues its tasks", async () => {
    const server = await serve(["--lease", "500ms"]);
    const { id } = await send(server.url, "wait 5000", true);
    server.child.kill("SIGTERM");
    // Two signals at the same moment count as one, because both a terminal and npm pass on Ctrl-C.
    server.child.kill("SIGINT");
    await expect.poll(server.stderr).toContain("asked to end");
    await sleep(600);
    expect(server.child.exitCode).toBeNull();
    server.child.kill("SIGTERM");
    expect(await server.exited).toBe("SIGTERM");
    const again = await serve(["--lease", "500ms"]);
    await expect.poll(() => stateOf(again.url, id), { timeout: 30_000 }).toBe("TASK_STATE_COMPLETED");
  });
});
