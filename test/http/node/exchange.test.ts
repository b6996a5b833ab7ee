import { once } from "node:events";
import * as http from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import { defaultLimits } from "../../../src/core/limits.js";
import { InboundBudget } from "../../../src/http/inbound-budget.js";
import { NodeExchange } from "../../../src/http/node/exchange.js";

const opened: http.Server[] = [];
afterEach(() => {
  for (const server of opened.splice(0)) server.close().closeAllConnections();
});

async function serve(handler: http.RequestListener): Promise<string> {
  const server = http.createServer(handler).listen(0, "127.0.0.1");
  opened.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const target = { path: "/", query: "", headers: ["x-of-all", "1"] };

function exchangeOf(request: http.IncomingMessage, response: http.ServerResponse): NodeExchange {
  const exchange = new NodeExchange(request, response);
  exchange.target = target;
  exchange.watch();
  return exchange;
}

const whole = { status: 201, type: "text/plain", body: "größer", headers: [["x-own", "2"]] as const };

async function seen(url: string): Promise<unknown[]> {
  const response = await fetch(url);
  const { headers, status } = response;
  const names = ["content-type", "content-length", "x-of-all", "x-own", "x-late"];
  return [status, await response.text(), ...names.map((name) => headers.get(name))];
}

describe("NodeExchange.watch()", () => {
  it("notices that the client left before a framework passed its request on", async () => {
    let watched = (_: boolean): void => {};
    const seen = new Promise<boolean>((resolve) => {
      watched = resolve;
    });
    const url = await serve(async (request, response) => {
      client.destroy();
      await once(response, "close");
      watched(exchangeOf(request, response).canceled);
    });
    const client = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
    client.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    expect(await seen).toBe(true);
  });
});

describe("NodeExchange.reply()", () => {
  it("sends status, headers and body", async () => {
    const url = await serve((request, response) => void exchangeOf(request, response).reply(whole));
    expect(await seen(url)).toEqual([201, "größer", "text/plain", "8", "1", "2", null]);
  });

  it("gives middleware headers as an object, which it knows", async () => {
    const url = await serve((request, response) => {
      const { writeHead } = response;
      // Wraps `writeHead`, as packages do that listen for the headers.
      response.writeHead = ((status: number, headers: Record<string, string>) => {
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
        response.setHeader("x-late", "3");
        return writeHead.call(response, status);
      }) as never;
      exchangeOf(request, response).reply(whole);
    });
    expect(await seen(url)).toEqual([201, "größer", "text/plain", "8", "1", "2", "3"]);
  });

  it("uses the last of several values of a header, and drops illegal ones", async () => {
    const headers = [
      ["x-own", "1"],
      ["x-own", "2"],
      ["x-of-all", "mine"],
      ["x-late", "a\r\nb"],
    ] as const;
    const url = await serve((request, response) => exchangeOf(request, response).reply({ ...whole, headers }));
    expect(await seen(url)).toEqual([201, "größer", "text/plain", "8", "mine", "2", null]);
  });

  it("answers once", async () => {
    const url = await serve((request, response) => {
      const exchange = exchangeOf(request, response);
      exchange.reply(whole);
      exchange.reply({ ...whole, body: "again" });
    });
    expect((await seen(url)).slice(0, 2)).toEqual([201, "größer"]);
  });
});

describe("NodeExchange.readBody()", () => {
  it.each([
    ["chunked", "{}"],
    ["Chunked", "{}"],
    ["gzip, chunked", "INVALID_REQUEST"],
    ["deflate,chunked", "INVALID_REQUEST"],
  ])("reads a body in the transfer coding %s as it is: %s", async (coding, body) => {
    const url = await serve((request, response) => {
      const exchange = exchangeOf(request, response);
      exchange
        .readBody({ max: 100, framing: 0 }, new InboundBudget({ limits: defaultLimits }))
        .then(String, ({ reason }) => reason)
        .then((text: string) => exchange.reply({ ...whole, body: text }));
    });
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write(`POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: ${coding}\r\n\r\n`);
    socket.write("2\r\n{}\r\n0\r\n\r\n");
    expect(await text(socket)).toMatch(new RegExp(`${body}$`));
  });
});
