import { once } from "node:events";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterEach, expect, it } from "vitest";
import { createHttp2Sessions } from "../../../src/http/node/http2-sessions.js";

let server: Server;
let session: ClientHttp2Session;
afterEach(() => {
  session.destroy();
  server.close();
});

it("asks a client for another connection that had this one before its session began", async () => {
  const sessions = createHttp2Sessions({
    handler: (_, response) => void response.end("answered"),
    requestTimeoutMs: 5_000,
    idleTimeoutMs: 5_000,
  });
  server = createServer((socket) => {
    sessions.announceDrain();
    sessions.accept(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const asked = once(session, "goaway");
  const stream = session.request({ ":path": "/" });
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  await once(stream, "close");
  expect([stream.rstCode, text]).toEqual([constants.NGHTTP2_NO_ERROR, "answered"]);
  const [code, lastStream] = (await asked) as [number, number];
  expect([code, lastStream]).toEqual([constants.NGHTTP2_NO_ERROR, 1]);
});
