import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Home, type ServerProcess } from "./support/server-process.js";

let home: Home;
let server: ServerProcess;
let agent: Agent;
let others: Socket[];

beforeEach(async () => {
  home = new Home();
  home.under = ["sh", "-c", 'ulimit -n 160; exec "$@"', "sh"];
  server = await home.start();
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
  others = [];
});

afterEach(async () => {
  for (const each of others) each.destroy();
  agent.destroy();
  await home.leave();
});

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

/** Sends a request over the connection that was opened first. */
function ask(path: string, body?: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const method = body === undefined ? "GET" : "POST";
    const asked = request(server.url + path, { method, agent, headers }, async (answer) => {
      let text = "";
      for await (const chunk of answer) text += chunk;
      resolve({ status: answer.statusCode, text });
    });
    asked.on("error", reject);
    asked.end(body && JSON.stringify(body));
  });
}

interface Told {
  readonly result?: unknown;
  readonly error?: { readonly data: readonly { reason: string }[] };
}

const call = async (method: string, params: object): Promise<Told> =>
  JSON.parse((await ask("/", { jsonrpc: "2.0", id: 1, method, params })).text);

/** Opens connections until the server has no file descriptor for another one. */
async function takeAll(): Promise<void> {
  const { hostname, port } = new URL(server.url);
  for (let isFull = false; !isFull; ) {
    const socket = connect(Number(port), hostname);
    others.push(socket);
    const closed = new Promise<boolean>((resolve) => socket.once("close", () => resolve(true)).on("error", () => {}));
    socket.write("GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n");
    const answered = new Promise<boolean>((resolve) => socket.once("data", () => resolve(false)));
    isFull = await Promise.race([closed, answered]);
  }
}

describe.skipIf(process.platform === "win32")("a server without a file descriptor left", { timeout: 60_000 }, () => {
  const message = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "say hi" }] };

  it("refuses what it would have to load for, and has it when there are descriptors again", async () => {
    expect(await call("GetTask", { id: "nope" })).toMatchObject({ error: { data: [{ reason: "TASK_NOT_FOUND" }] } });
    await takeAll();
    // A method of a version whose code is not loaded yet.
    const refused = await call("message/send", { message });
    expect(refused.error?.data[0]?.reason).toBe("UNAVAILABLE");
    expect((await ask("/.well-known/agent-card.json")).status).toBe(500);
    expect(await call("GetTask", { id: "nope" })).toMatchObject({ error: { data: [{ reason: "TASK_NOT_FOUND" }] } });
    for (const each of others) each.destroy();
    const result = async (): Promise<unknown> => (await call("message/send", { message })).result;
    await expect.poll(result).toMatchObject({ kind: "message" });
    expect((await ask("/.well-known/agent-card.json")).status).toBe(200);
  });

  it("ends in order", async () => {
    expect(await call("GetTask", { id: "nope" })).toMatchObject({ error: { data: [{ reason: "TASK_NOT_FOUND" }] } });
    await takeAll();
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    expect(server.log).toContain("the server has ended");
  });
});
