import { once } from "node:events";
import { closeSync, openSync, writeFileSync } from "node:fs";
import * as http from "node:http";
import { join } from "node:path";
import { Client, credentials } from "@grpc/grpc-js";
import { describe, expect, it, vi } from "vitest";
import { inheritedSockets } from "../../src/cli/socket-activation.js";
import { main, probe, type Run, ready, watch, workplaces } from "./cli.js";
import { openSocket, type PassedSocket, startWith } from "./passed-sockets.js";

vi.setConfig({ testTimeout: 60_000 });

const place = workplaces();

const env = (more: Record<string, string>): NodeJS.ProcessEnv => ({ LISTEN_PID: "7", LISTEN_FDS: "1", ...more });

describe("inheritedSockets()", () => {
  it("takes sockets by their names, and a single one for HTTP whatever its name is", () => {
    expect(inheritedSockets(env({}), 7)).toEqual({ http: 3 });
    expect(inheritedSockets(env({ LISTEN_FDNAMES: "parley.socket" }), 7)).toEqual({ http: 3 });
    expect(inheritedSockets(env({ LISTEN_FDNAMES: "grpc" }), 7)).toEqual({ grpc: 3 });
    const two = { LISTEN_FDS: "2", LISTEN_FDNAMES: "grpc:http" };
    expect(inheritedSockets(env(two), 7)).toEqual({ grpc: 3, http: 4 });
  });

  it("removes the variables, and ignores those of another process", () => {
    const variables = env({ LISTEN_FDNAMES: "http", PATH: "/bin" });
    expect(inheritedSockets(variables, 8)).toEqual({});
    expect(variables).toEqual({ PATH: "/bin" });
    expect(inheritedSockets({}, 8)).toEqual({});
    expect(inheritedSockets(env({ LISTEN_FDS: "-1" }), 7)).toEqual({});
  });

  it("rejects several sockets whose purpose is not clear", () => {
    expect(() => inheritedSockets(env({ LISTEN_FDS: "2" }), 7)).toThrow(/named "".*FileDescriptorName/);
    const twice = { LISTEN_FDS: "2", LISTEN_FDNAMES: "http:http" };
    expect(() => inheritedSockets(env(twice), 7)).toThrow("LISTEN_FDS has two sockets named http");
  });
});

function serve(sockets: readonly PassedSocket[], flags: readonly string[] = [], names?: string): Run {
  const command = [process.execPath, main, "serve", probe, ...flags];
  const passing = { sockets, cwd: place.path, ...(names !== undefined && { names }) };
  const run = place.keep(watch(startWith(command, passing)));
  for (const socket of sockets) socket.release();
  return run;
}

/** Sends a request to a server, through a Unix socket if it has a path. */
async function get(to: http.RequestOptions): Promise<{ status: number; text: string }> {
  const request = http.get({ host: "127.0.0.1", ...to });
  const [response] = (await once(request, "response")) as [http.IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return { status: response.statusCode ?? 0, text };
}

describe.skipIf(process.platform === "win32")("parley serve, started with sockets", () => {
  it("serves HTTP and gRPC on them, and reports their ports", async () => {
    const sockets = [await openSocket(), await openSocket()];
    const [{ port: grpcPort }, { port }] = sockets as [PassedSocket, PassedSocket];
    const server = await ready(serve(sockets, ["--port", "1", "--grpc-port", "off"], "grpc:http"));
    expect([server.url, server.grpcAddress]).toEqual([`http://127.0.0.1:${port}`, `127.0.0.1:${grpcPort}`]);
    const card = JSON.parse((await get({ port, path: "/.well-known/agent-card.json" })).text);
    const urls = card.supportedInterfaces.map(({ url }: { url: string }) => url);
    expect(urls).toContain(`http://127.0.0.1:${port}`);
    expect(urls).toContain(`127.0.0.1:${grpcPort}`);
    const client = new Client(server.grpcAddress, credentials.createInsecure());
    await new Promise((resolve, reject) => {
      client.waitForReady(Date.now() + 30_000, (error) => (error ? reject(error) : resolve(undefined)));
    });
    client.close();
  });

  it("opens the ports that it got no socket for", async () => {
    const server = await ready(serve([await openSocket()], ["--grpc-port", "0"]));
    expect(server.grpcAddress).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(server.grpcAddress).not.toBe(new URL(server.url).host);
  });

  it("serves a Unix socket, whose clients a trusted loopback includes", async () => {
    const socketPath = join(place.path, "http.sock");
    const flags = ["--grpc-port", "off", "--trust-proxy", "loopback", "--access-log", "--log-format", "json"];
    const server = await ready(serve([await openSocket(socketPath)], flags));
    expect(server.url).toBe("http://localhost");
    const headers = { "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https", "x-forwarded-host": "localhost" };
    const { text } = await get({ socketPath, path: "/.well-known/agent-card.json", headers });
    expect(text).toContain('"url":"https://localhost"');
    expect((await get({ socketPath, path: "/tasks/none", headers })).status).toBe(404);
    await expect.poll(() => server.stderr()).toContain('"address":"203.0.113.9"');
    server.child.kill();
    expect(await server.exited).toBe(0);
  });

  it("refuses a descriptor that is not a socket, and TLS over a Unix socket, with code 2", async () => {
    const file = join(place.path, "file");
    writeFileSync(file, "text");
    const fd = openSync(file, "r");
    const wrong = serve([{ fd, port: 0, release: () => closeSync(fd) }]);
    expect(await wrong.exited).toBe(2);
    expect(wrong.stderr()).toContain("the descriptor 3 is not a socket that listens");
    const fixture = (name: string): string => new URL(`../fixtures/tls/${name}.pem`, import.meta.url).pathname;
    const tls = ["--tls-cert", fixture("cert"), "--tls-key", fixture("key"), "--grpc-port", "off"];
    const secure = serve([await openSocket(join(place.path, "s.sock"))], tls);
    expect(await secure.exited).toBe(2);
    expect(secure.stderr()).toContain("tls needs TCP");
  });
});
