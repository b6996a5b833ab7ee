import * as net from "node:net";
import { describe, expect, it, vi } from "vitest";
import { cleanup, serve } from "./serve.js";

vi.setConfig({ testTimeout: 60_000 });

const HOST = "host: localhost\r\n";

/** A call over JSON-RPC, whose answer has its name. */
function call(name: string, text: string, more = ""): string {
  const message = { messageId: name, role: "ROLE_USER", parts: [{ text }] };
  const body = JSON.stringify({ jsonrpc: "2.0", id: `<${name}>`, method: "SendMessage", params: { message } });
  const length = `content-length: ${Buffer.byteLength(body)}\r\n`;
  return `POST / HTTP/1.1\r\n${HOST}content-type: application/json\r\n${length}${more}\r\n${body}`;
}

const chunked = `POST / HTTP/1.1\r\n${HOST}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`;

/** Bytes sent after the requests, and the status of the answer to them. */
const behind: readonly (readonly [name: string, said: string, status: string, isEnded?: true])[] = [
  ["bytes that are no request", "NONSENSE\r\n\r\n", "400 Bad Request"],
  [
    "headers that are too large",
    `GET / HTTP/1.1\r\n${HOST}x: ${"x".repeat(100_000)}`,
    "431 Request Header Fields Too Large",
  ],
  ["a body in chunks that are none", `${chunked}zz\r\n`, "400 Bad Request"],
  ["half a request, and the end", `GET / HTTP/1.1\r\n${HOST}`, "400 Bad Request", true],
];

/** Sends all of it in one piece, opens the gate when the server has it, and gives what came back until the connection ended. */
async function answered(said: string, isEnded: boolean): Promise<string[]> {
  const { port, gates } = await serve();
  const socket = net.connect(port, "127.0.0.1");
  cleanup(() => socket.destroy());
  socket.on("error", () => {});
  if (isEnded) socket.end(said);
  else socket.write(said);
  await gates.reached("slow");
  // The server has parsed the rest of the piece by then.
  await new Promise((resolve) => setImmediate(resolve));
  gates.open("slow");
  let text = "";
  for await (const chunk of socket.setEncoding("latin1")) text += chunk as string;
  return [...text.matchAll(/HTTP\/1\.1 (\d+ [\w ]+)|"id":"(<\w+>)"/g)].map(([, status, id]) => status ?? id ?? "");
}

describe("answers that are being made when no request follows", () => {
  it.each(behind)("are sent in their order before the refusal of %s", async (_name, said, status, isEnded) => {
    const requests = [call("slow", "gate slow"), call("quick", "a"), call("last", "b")];
    const all = await answered(requests.join("") + said, isEnded === true);
    expect(all).toEqual(["200 OK", "<slow>", "200 OK", "<quick>", "200 OK", "<last>", status]);
  });

  it("are sent before the connection ends, where the last request said `Connection: close` and others follow", async () => {
    const requests = [call("slow", "gate slow"), call("last", "a", "connection: close\r\n"), call("after", "b")];
    expect(await answered(requests.join(""), false)).toEqual(["200 OK", "<slow>", "200 OK", "<last>"]);
  });
});
