import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresStore } from "../../../src/store/postgres/index.js";

/** A message of PostgreSQL's protocol: its letter, the length that it states, and its bytes. */
function message(letter: string, length: number, ...bytes: readonly number[]): Buffer {
  const head = Buffer.alloc(5);
  head.write(letter, "latin1");
  head.writeInt32BE(length, 1);
  return Buffer.concat([head, Buffer.from(bytes)]);
}

/** First answers of servers of other kinds, and of those that break the protocol. */
const answers: Readonly<Record<string, string | Buffer>> = {
  HTTP: "HTTP/1.0 400 Bad request\r\n\r\n",
  SSH: "SSH-2.0-OpenSSH_9.9\r\n",
  Redis: "-ERR unknown command\r\n",
  MySQL: Buffer.concat([Buffer.from([74, 0, 0, 0, 10]), Buffer.from("8.4.0\0aaaaaaa")]),
  "64 zeros": Buffer.alloc(64),
  "64 ones": Buffer.alloc(64, 255),
  "a login of an unknown kind": message("R", 8, 0, 0, 0, 99),
  "a login that ends early": message("R", 0),
  "a login by SASL without its start": message("R", 12, 0, 0, 0, 11, 1, 2, 3, 4),
  "a row that ends early": message("D", 6, 0, 50),
  "a notification that ends early": message("A", 5, 1),
  "an error of negative length": message("E", -1, 0),
};

describe("postgresStore", () => {
  let answer: string | Buffer = "";
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).once("data", () => socket.end(answer));
  });
  beforeAll(() => once(server.listen(0, "127.0.0.1"), "listening"));
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it.each(Object.entries(answers))("fails to open at the answer of another kind of server: %s", async (_, bytes) => {
    answer = bytes;
    const { port } = server.address() as AddressInfo;
    const opened = postgresStore({ url: `postgres://ann:hunter2@127.0.0.1:${port}/x`, timeoutMs: 1_000 });
    await expect(opened).rejects.toMatchObject({ name: "StoreError", kind: "unavailable" });
    await expect(opened).rejects.not.toMatchObject({ message: expect.stringContaining("hunter2") });
  });

  it("fails to open as in an outage if it cannot trust the certificate of the server", async () => {
    const file = (name: string): Buffer => readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url));
    const identity = { cert: file("cert.pem"), key: file("key.pem") };
    const encrypted = createServer((socket) => {
      socket
        .on("error", () => {})
        .once("data", () => {
          socket.write("S");
          new TLSSocket(socket, { isServer: true, ...identity }).on("error", () => {});
        });
    });
    await once(encrypted.listen(0, "127.0.0.1"), "listening");
    const { port } = encrypted.address() as AddressInfo;
    const url = `postgres://ann@127.0.0.1:${port}/x?sslmode=verify-full`;
    await expect(postgresStore({ url, timeoutMs: 1_000 })).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringMatching(/\((?:DEPTH_ZERO_)?SELF_SIGNED_CERT/),
    });
    encrypted.close();
  });
});
