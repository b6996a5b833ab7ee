import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import type { Binding } from "../../src/client/discovery/interfaces.js";
import { cardJson } from "./card-server.js";
import { atEnd, connect } from "./world.js";

/** Records the target of each request, and refuses all of them. */
async function recorder(isHttp2: boolean) {
  const targets: string[] = [];
  const server = isHttp2
    ? createHttp2Server((request, response) => {
        targets.push(request.url);
        response.writeHead(403).end();
      })
    : createServer((request, response) => {
        targets.push(request.url ?? "");
        request.resume().on("end", () => response.writeHead(403).end());
      });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => server.close());
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, targets };
}

async function targetOf(binding: Binding, declared: object, path: string): Promise<readonly string[]> {
  const { host, targets } = await recorder(binding === "GRPC");
  const url = `http://${host}${path}`;
  const card = cardJson({ supportedInterfaces: [{ protocolVersion: "1.0", ...declared, url }] });
  const client = await connect(card, { bindings: [binding] });
  await client.send("Hello").catch(() => {});
  return targets;
}

const CONNECT = "urn:parley:binding:connect:v1";
const service = "/lf.a2a.v1.A2AService/SendMessage";
const v03 = { protocolVersion: "0.3" };

describe("the URL of an interface", () => {
  it.each([
    ["JSONRPC", { protocolBinding: "JSONRPC" }, ""],
    ["JSONRPC", { protocolBinding: "JSONRPC", ...v03 }, ""],
    ["HTTP+JSON", { protocolBinding: "HTTP+JSON" }, "/message:send"],
    ["HTTP+JSON", { protocolBinding: "HTTP+JSON", ...v03 }, "/v1/message:send"],
    ["CONNECT", { protocolBinding: CONNECT }, service],
    ["GRPC-WEB", { protocolBinding: CONNECT }, service],
    ["GRPC", { protocolBinding: "GRPC" }, service],
  ] as const)("is called as the card has it over %s (%o)", async (binding, declared, method) => {
    for (const [path, root] of [
      ["", method || "/"],
      ["/", method || "/"],
      ["/a", `/a${method}`],
      ["/a/", `/a${method || "/"}`],
      ["/a//", `/a${method || "//"}`],
      ["/a/?k=v", `/a${method || "/"}?k=v`],
      ["/a?k=v/#f", `/a${method}?k=v/`],
      ["/%C3%A9%2f/x", `/%C3%A9%2f/x${method}`],
    ] as const) {
      expect(await targetOf(binding, declared, path), path).toEqual([root]);
    }
  });
});
