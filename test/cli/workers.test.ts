import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { build } from "../e2e/support/build.js";
import { workersOf } from "../e2e/support/workers.js";
import { fixture, main, probe, ready, watch, workplaces } from "./cli.js";
import { openSocket, startWith } from "./passed-sockets.js";

vi.setConfig({ testTimeout: 120_000 });

build();
const place = workplaces();
const ports = ["--port", "0", "--grpc-port", "0"];

describe("parley serve --workers", () => {
  it("rejects invalid values and stores that workers cannot share", async () => {
    for (const value of ["0", "abc", "1000", "1.5"]) {
      const run = place.run(["serve", probe, "--workers", value]);
      expect(await run.exited, value).toBe(2);
      expect(run.stderr(), value).toMatch(
        new RegExp(`^parley: option '--workers <number>' argument '${value}' is invalid\\. It is n[^\\n]*\\n$`),
      );
    }
    const inMemory = place.run(["serve", probe, "--workers", "2", "--store", "memory"]);
    expect([await inMemory.exited, inMemory.stderr()]).toEqual([
      2,
      "parley: --workers needs a store that processes share: a file or PostgreSQL, and not --store memory\n",
    ]);
    const console = place.run(["serve", probe, ...ports, "--workers", "2", "--console"]);
    expect(await console.exited).toBe(2);
    expect(console.stderr()).toMatch(/^parley: --console needs one process.*\n$/m);
  });

  it("starts one worker for each core with --workers cores", async () => {
    const run = place.run(["serve", probe, ...ports, "--workers", "cores"]);
    await ready(run);
    await expect.poll(() => run.stderr(), { timeout: 60_000 }).toContain("the workers share the ports");
    expect(workersOf(run.child.pid ?? 0)).toHaveLength(availableParallelism());
  });

  it("reports a port in use once, and a worker that crashes at every start", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const { port } = taken.address() as { port: number };
    const busy = place.run(["serve", probe, "--port", `${port}`, "--grpc-port", "off", "--workers", "2"]);
    expect(await busy.exited).toBe(2);
    expect(busy.stderr().match(/port .* is in use|in use/g)).toHaveLength(1);
    taken.close();

    const first = place.run(["serve", fixture("process"), ...ports, "--workers", "2"], { TEST_FAILS_FROM: "first" });
    expect(await first.exited).toBe(1);

    const second = place.run(["serve", fixture("process"), ...ports, "--workers", "2"], { TEST_FAILS_FROM: "second" });
    const served = await ready(second);
    await expect
      .poll(() => second.stderr(), { timeout: 60_000 })
      .toMatch(/"delayMs":[1-9]\d*,"msg":"a worker has ended/);
    // The first worker still serves. After its end no worker can start.
    const message = { messageId: "1", role: "ROLE_USER", parts: [{ text: "crash the process" }] };
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    await fetch(`${served.url}/message:send`, { method: "POST", headers, body: JSON.stringify({ message }) }).catch(
      () => {},
    );
    expect(await second.exited).toBe(1);
    expect(second.stderr()).toContain("no worker can be started");
  });

  it("replaces its workers once more at a SIGUSR2 meanwhile, and ends in order while it replaces them", async () => {
    const run = place.run(["serve", probe, ...ports, "--workers", "2", "--drain-delay", "0ms"]);
    await ready(run);
    const count = (text: string): number => run.stderr().split(text).length - 1;
    run.child.kill("SIGUSR2");
    await expect.poll(() => count("the server has ended"), { timeout: 60_000 }).toBe(1);
    run.child.kill("SIGUSR2");
    await expect.poll(() => count("the workers are replaced"), { timeout: 60_000 }).toBe(2);
    run.child.kill("SIGUSR2");
    // The new worker exists, but has not loaded its code.
    await expect.poll(() => workersOf(run.child.pid ?? 0).length, { timeout: 60_000 }).toBe(3);
    run.child.kill("SIGTERM");
    expect(await run.exited).toBe(0);
    expect(run.stderr()).not.toContain("did not start");
  });

  it("adds up its workers for operators", async () => {
    const token = "0123456789abcdef0123456789abcdef";
    writeFileSync(join(place.path, "tokens"), `ops write ${token}\n`, { mode: 0o600 });
    const admin = ["--admin", "127.0.0.1:0", "--admin-tokens", "tokens", "--metrics"];
    const run = place.run(["serve", fixture("process"), ...ports, "--workers", "2", ...admin]);
    const { url } = await ready(run);
    const [, operators = ""] = /^ *Admin +(\S+)/m.exec(run.stdout()) ?? [];
    const asked = async (path: string): Promise<string> => {
      const answer = await fetch(operators + path, {
        headers: { authorization: `Bearer ${token}`, connection: "close" },
      });
      expect(answer.status).toBe(200);
      return answer.text();
    };
    const seen = new Set<string>();
    let calls = 0;
    for (; seen.size < 2 || calls < 10; calls++) {
      const message = { messageId: `${calls}`, role: "ROLE_USER", parts: [{ text: "which process" }] };
      const headers = { "content-type": "application/json", "a2a-version": "1.0", connection: "close" };
      const answer = await fetch(`${url}/message:send`, { method: "POST", headers, body: JSON.stringify({ message }) });
      seen.add(JSON.parse(await answer.text()).message.parts[0].text);
    }
    expect([...seen].map(Number).sort()).toEqual(workersOf(run.child.pid ?? 0).sort());
    const counted = new RegExp(`parley_calls_total\\{binding="rest",method="SendMessage",.*code="OK"\\} ${calls}\\n`);
    // Any worker may answer.
    for (let tries = 0; tries < 4; tries++) {
      expect(await asked("/metrics")).toMatch(counted);
      const server = JSON.parse(await asked("/v1/server"));
      expect([server.endedCalls, server.holder.split(" ")]).toEqual([
        `${calls}`,
        expect.objectContaining({ length: 2 }),
      ]);
    }
    const { limits } = JSON.parse(await asked("/v1/limits"));
    expect(limits.find(({ name }: { name: string }) => name === "maxConnections").value).toBe(40_000);
    // The pages contain the records of both workers.
    const whole = JSON.parse(await asked("/v1/auditRecords?pageSize=1000")).records;
    expect(whole.filter(({ event }: { event: string }) => event === "server.started")).toHaveLength(2);
    const paged: unknown[] = [];
    for (let token = "", pages = 0; (pages === 0 || token !== "") && pages < 100; pages++) {
      const page = JSON.parse(await asked(`/v1/auditRecords?pageSize=1&pageToken=${encodeURIComponent(token)}`));
      expect(page.records).toHaveLength(1);
      paged.push(...page.records);
      token = page.nextPageToken ?? "";
    }
    expect(paged).toEqual(expect.arrayContaining(whole));

    // The counts of a killed worker remain.
    process.kill(Number([...seen][0]), "SIGKILL");
    await expect.poll(() => asked("/v1/server").then((text) => JSON.parse(text).holder.split(" ").length)).toBe(2);
    expect(await asked("/metrics")).toMatch(counted);
    expect(JSON.parse(await asked("/v1/tasks"))).toEqual({ tasks: [] });
  });

  it("serves the sockets that it was started with", async () => {
    const sockets = [await openSocket(), await openSocket()];
    const command = [process.execPath, main, "serve", probe, "--workers", "2", "--store", "tasks.db"];
    const run = place.keep(watch(startWith(command, { sockets, names: "http:grpc", cwd: place.path })));
    for (const socket of sockets) socket.release();
    await ready(run);
    const answer = await fetch(`http://127.0.0.1:${sockets[0]?.port}/readyz`);
    expect([answer.status, await answer.text()]).toEqual([200, '{"status":"ready"}']);
  });
});
