import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import * as http from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, credentials } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bearer, openWorld, operators, tokens, type World } from "./world.js";

/** The operator's service on a Unix socket. */

let folder: string;
let path: string;
const opened: World[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-socket-"));
  path = join(folder, "admin.sock");
});
afterEach(async () => {
  for (const { server } of opened.splice(0)) await server.close();
  rmSync(folder, { recursive: true });
});

async function open(admin: object = { tokens: undefined }): Promise<World> {
  const world = await openWorld({ listen: `unix:${path}`, ...admin });
  opened.push(world);
  return world;
}

function statusOf(method: string, url: string, headers: http.OutgoingHttpHeaders = {}): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = http.request({ socketPath: path, method, path: url, headers }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode));
    });
    request.on("error", reject);
    request.end(method === "POST" ? "{}" : undefined);
  });
}

const json = { "content-type": "application/json" };

describe("a Unix socket", () => {
  it("makes whoever may open it an operator with the role write, and only its user may", async () => {
    const { server, records } = await open();
    expect(server.adminUrl).toBe(`unix:${path}`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await statusOf("GET", "/readyz")).toBe(200);
    // The server checks the role first. It then refuses the request because the level is missing.
    expect(await statusOf("POST", "/v1/server:setLogLevel", json)).toBe(400);
    expect(await statusOf("POST", "/v1/tasks/none:cancel", json)).not.toBe(403);
    expect(records.filter(({ event }) => event === "admin.write")[0]).toMatchObject({ operator: "local" });
  });

  it("asks for tokens if there are any", async () => {
    await open({ tokens: operators });
    expect(await statusOf("POST", "/v1/server:setLogLevel", json)).toBe(401);
    expect(await statusOf("POST", "/v1/server:setLogLevel", { ...json, ...bearer(tokens.read) })).toBe(403);
    expect(await statusOf("POST", "/v1/server:setLogLevel", { ...json, ...bearer(tokens.write) })).toBe(400);
  });

  it("speaks gRPC", async () => {
    await open();
    const client = new Client(`unix:${path}`, credentials.createInsecure());
    const bytes = (value: Buffer): Buffer => value;
    const method = "/grpc.health.v1.Health/Check";
    const answer = await new Promise<Buffer | undefined>((resolve, reject) => {
      client.makeUnaryRequest(method, bytes, bytes, Buffer.alloc(0), (error, value) =>
        error ? reject(error) : resolve(value),
      );
    });
    // The encoded status SERVING.
    expect([...(answer ?? [])]).toEqual([8, 1]);
    client.close();
  });

  it("is removed with the end of the server", async () => {
    const { server } = await open();
    await server.close();
    expect(existsSync(path)).toBe(false);
  });

  it("replaces that of a process that was killed", async () => {
    const script = "require('node:net').createServer().listen(process.argv[1], () => console.log('open'))";
    const child = spawn(process.execPath, ["-e", script, path], { stdio: ["ignore", "pipe", "inherit"] });
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(existsSync(path)).toBe(true);
    await open();
    expect(await statusOf("GET", "/healthz")).toBe(200);
  });

  it("leaves that of a running process alone", async () => {
    await open();
    await expect(open()).rejects.toThrow(`another process listens on ${path}`);
    expect(await statusOf("GET", "/healthz")).toBe(200);
  });

  it("leaves a file that is no socket alone", async () => {
    writeFileSync(path, "precious");
    await expect(open()).rejects.toThrow(`${path} is not a socket`);
    expect(statSync(path).size).toBe(8);
  });

  it("needs a folder", async () => {
    path = join(folder, "missing", "admin.sock");
    await expect(open()).rejects.toThrow(/the folder of the socket .* does not exist/);
  });

  it("does not delay the end for a client that stalls", async () => {
    const { server } = await open();
    const socket = connect(path);
    socket.on("error", () => {});
    socket.write("POST /v1/tasks/none:cancel HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{");
    await once(socket, "connect");
    expect(await statusOf("GET", "/healthz")).toBe(200);
    const closed = once(socket, "close");
    await server.close();
    await closed;
  });
});
