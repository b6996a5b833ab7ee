import * as http from "node:http";
import * as net from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { bodyOf } from "../push-receiver/world.js";
import { Figures } from "../support/figures.js";
import { held } from "../support/held.js";
import { ask, type ConsoleWorld, openConsole, sessionOf, tokenIn } from "./world.js";

let world: ConsoleWorld;
beforeAll(async () => {
  world = await openConsole();
});
afterAll(() => world.server.close());

let session: Awaited<ReturnType<typeof sessionOf>>;
let address: string;
let token: string;
beforeEach(async () => {
  session = await sessionOf(world.base, { token: tokenIn(world.server.consoleUrl) });
  ({ address, token } = await read());
});

async function read(after: number | string = 0) {
  const { status, text } = await ask(`${world.base}/api/receiver?after=${after}`, { method: "POST", headers: session });
  expect(status).toBe(200);
  return JSON.parse(text);
}

const json = { "content-type": "application/a2a+json" };
const post = (body: string | Uint8Array, headers: http.OutgoingHttpHeaders = {}) =>
  ask(address, { method: "POST", headers: { ...json, "x-a2a-notification-token": token, ...headers }, body });

const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
const event = (metadata: string): string =>
  `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"metadata":${metadata}}}`;

describe("a receiver to which a hostile agent posts", () => {
  it.each([
    ["levels of objects", event(deep(150_000)), 400],
    ["levels of lists", "[".repeat(1_000_000), 400],
    ["values", event(`{"a":[${"1,".repeat(400_000)}1]}`), 413],
    ["names of prototypes", event('{"__proto__":{"harmed":1},"constructor":{"prototype":{"harmed":1}}}'), 204],
    ["a name twice", `{"statusUpdate":{},${event("{}").slice(1)}`, 204],
    ["null", "null", 400],
    ["a number without an end", `{"statusUpdate":${"9".repeat(1_000_000)}}`, 400],
    ["a byte of no text", new Uint8Array([0x22, 0xff, 0x22]), 400],
    ["half a surrogate", event('{"a":"\\ud800"}'), 400],
    ["nothing", "", 400],
  ])("answers and goes on after %s", async (_what, body, status) => {
    expect((await post(body)).status).toBe(status);
    const { notifications } = await read();
    expect(notifications).toMatchObject([{ number: 1, status }]);
    const shown = await ask(`${world.base}/api/receiver/notifications/1`, { headers: session });
    expect([shown.status, JSON.parse(shown.text).number]).toEqual([200, 1]);
    expect("harmed" in {}).toBe(false);
    expect((await post(bodyOf("task-1", "still here"))).status).toBe(204);
  });

  it("keeps headers with hostile names as text", async () => {
    const names = { __proto__x: "1", constructor: "2", hasownproperty: "3", tostring: "4" };
    const own = Object.fromEntries([["__proto__", "0"]]);
    expect((await post(bodyOf("task-1", "hello"), { ...names, ...own, "x-name": "\u00fc<script>" })).status).toBe(204);
    const { text } = await ask(`${world.base}/api/receiver/notifications/1`, { headers: session });
    const { headers } = JSON.parse(text);
    expect(headers).toMatchObject({ ...names, "x-name": expect.stringContaining("<script>") });
    expect(Object.getPrototypeOf(headers)).toBe(Object.prototype);
    expect("harmed" in {}).toBe(false);
  });

  it("keeps a body that never ends for nobody", async () => {
    const { port, pathname } = new URL(address);
    const socket = net.connect(Number(port), "127.0.0.1");
    const closed = vi.fn();
    socket.on("error", () => {}).on("close", closed);
    const head = `POST ${pathname} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\ntransfer-encoding: chunked\r\n`;
    socket.write(`${head}content-type: application/a2a+json\r\nx-a2a-notification-token: ${token}\r\n\r\n`);
    const piece = `10000\r\n${"x".repeat(65_536)}\r\n`;
    let said = "";
    socket.on("data", (data) => {
      said += data;
    });
    const send = async (): Promise<void> => {
      while (said === "" && !socket.destroyed) {
        socket.write(piece);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const figures = await Figures.begin(held);
    const sent = send();
    await figures.during(5, async () => expect((await ask(`${world.base}/api/session`)).status).toBe(200));
    await sent;
    figures.print("a notification that never ends");
    expect(said).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
    expect((await read()).notifications).toMatchObject([{ status: 413, size: 0 }]);
  });

  it("answers a notification whose session ends while it arrives as one to an address of nobody", async () => {
    const { port, pathname } = new URL(address);
    const body = bodyOf("task-1", "late");
    const headers = { ...json, "x-a2a-notification-token": token, "content-length": Buffer.byteLength(body) };
    const request = http.request({ host: "127.0.0.1", port, path: pathname, method: "POST", headers, agent: false });
    const answer = new Promise<http.IncomingMessage>((resolve, reject) => {
      request.once("response", resolve).once("error", reject);
    });
    request.write(body.slice(0, 10));
    // Waits until the server has received the head of this request, by making others after it.
    await new Promise((resolve) => request.once("socket", (socket) => socket.once("connect", resolve)));
    for (let at = 0; at < 3; at++) await read();
    expect((await ask(`${world.base}/api/session`, { method: "DELETE", headers: session })).status).toBe(204);
    request.end(body.slice(10));
    expect((await answer).statusCode).toBe(404);
  });

  it("does not let ids be guessed, nor reach what is beside it", async () => {
    const id = new URL(address).pathname.split("/").at(-1) ?? "";
    const known = await ask(`${world.base}/hooks/${"A".repeat(43)}`, { method: "POST", body: "{}" });
    for (const path of [
      ...["", "__proto__", "constructor", id.slice(0, -1), `${id}/`, `${id}x`, id.toLowerCase(), `/${id}`, "%00"],
      ...["../api/receiver", "..%2fapi%2freceiver", "%2e%2e/api/session", `${id}/notifications/1`],
    ]) {
      const url = new URL(world.base);
      const sent = { method: "POST", body: "{}", path: `${url.pathname}/hooks/${path}` };
      const { status, text } = await ask(world.base, sent);
      expect([path, status, [401, 403].includes(status) || text === known.text]).toEqual([
        path,
        path.startsWith("../") || path.startsWith("%2e") ? expect.any(Number) : 404,
        true,
      ]);
    }
    expect((await read()).notifications).toEqual([]);
  });

  it.each(["NaN", "-1", "1e999", "x", "9007199254740993"])(
    "answers its page that asks for those after %s",
    async (at) => {
      await post(bodyOf("task-1", "hello"));
      expect((await read(at)).last).toBe(1);
    },
  );

  it("counts large ids as a part of what it keeps", async () => {
    for (let at = 0; at < 5; at++) await post(bodyOf(`${at}${"x".repeat(1_000_000)}`, "hello"));
    // The id counts twice: in the body and as the task in the list.
    expect(await read()).toMatchObject({ first: 4, last: 5 });
  });
});
