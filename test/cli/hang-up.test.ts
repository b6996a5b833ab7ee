import { spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, describe, expect, it, vi } from "vitest";
import { Certificates } from "../server/certificates.js";
import { fixture, main, probe, ready, type Served, watch, workplaces } from "./cli.js";

// Every test starts processes, which takes time on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const certificates = new Certificates();
afterAll(() => certificates.clean());

const place = workplaces();
const ports = ["--port", "0", "--grpc-port", "0", "--store", "memory"];
const serve = (...args: string[]): Promise<Served> => ready(place.run(["serve", probe, ...ports, ...args]));

/** `script` of util-linux runs a command in a terminal. */
const hasTerminal = spawnSync("script", ["--version"]).stdout?.includes("util-linux") === true;

describe("SIGHUP", () => {
  it("does not end a service that has nothing to read again", async () => {
    const server = await serve();
    server.child.kill("SIGHUP");
    await expect.poll(server.stderr, { timeout: 30_000 }).toContain("asked to read its files again");
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    server.child.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  });

  it("does not end a service that is still starting", async () => {
    const server = await ready(place.run(["serve", fixture("hung-up"), ...ports]));
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });

  it.runIf(hasTerminal)("ends a server in order whose terminal has gone", async () => {
    const audit = join(place.path, "audit.log");
    const command = [process.execPath, main, "serve", probe, ...ports, "--audit", audit].join(" ");
    const terminal = place.keep(watch(spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"])));
    await ready(terminal);
    terminal.child.kill("SIGKILL");
    await expect.poll(() => readFileSync(audit, "utf8"), { timeout: 30_000 }).toContain("server.stopped");
  });

  it("reads the TLS files again at once", async () => {
    const write = (name: string): void => {
      const { key, cert } = certificates.make(name);
      writeFileSync(join(place.path, "key.pem"), key);
      writeFileSync(join(place.path, "cert.pem"), cert);
    };
    write("first.example");
    const server = await serve("--tls-cert", "cert.pem", "--tls-key", "key.pem");
    const shown = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const port = Number(new URL(server.url).port);
        const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
          resolve(String(socket.getPeerCertificate().subject.CN));
          socket.destroy();
        });
        socket.on("error", reject);
      });
    expect(await shown()).toBe("first.example");
    write("second.example");
    server.child.kill("SIGHUP");
    // Without the signal, the server reads the files every 10 seconds.
    await expect.poll(shown, { timeout: 5_000 }).toBe("second.example");
  });
});
