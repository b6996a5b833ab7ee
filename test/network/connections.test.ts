import { once } from "node:events";
import { type ClientHttp2Session, constants } from "node:http2";
import * as net from "node:net";
import { describe, expect, it, vi } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { sourceOf } from "../../src/core/net.js";
import { connectionStreams } from "../../src/http/node/http2-sessions.js";
import { setConstants } from "../support/constants.js";
import { connect, http1 } from "./raw-http.js";
import { bytesOf, envelope } from "./requests.js";
import { cleanup, messageOf, serve, until } from "./serve.js";

vi.setConfig({ testTimeout: 30_000 });

/** Opens a connection, and tells whether the other side has hung up. */
function open(port: number): { readonly isOver: () => boolean; readonly close: () => void } {
  let over = false;
  const socket = net.connect(port, "127.0.0.1").on("error", () => {});
  socket.resume().once("close", () => {
    over = true;
  });
  cleanup(() => socket.destroy());
  return { isOver: () => over, close: () => socket.destroy() };
}

describe("the number of connections", () => {
  it.each([
    ["from one address", { maxConnectionsPerAddress: 3 }],
    ["altogether", { maxConnections: 3 }],
  ])("is limited %s, on both ports together, and what is over makes room", async (_name, limits) => {
    const served = await serve({ limits });
    const held = [open(served.port), open(served.grpcPort), open(served.port)];
    const refused = open(served.port);
    await until(refused.isOver);
    await until(open(served.grpcPort).isOver);
    expect(held.map(({ isOver }) => isOver())).toEqual([false, false, false]);
    // However many are refused, the log says it once.
    expect(served.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
    held[0]?.close();
    await until(
      async () => (await http1(served.port)({ method: "GET", path: "/readyz" }).catch(() => undefined))?.status === 200,
    );
  });

  it("is not limited for a proxy that is trusted: its clients are many", async () => {
    const served = await serve({ limits: { maxConnectionsPerAddress: 1 }, trustProxy: "loopback" });
    const held = [open(served.port), open(served.port), open(served.grpcPort)];
    expect((await http1(served.port)({ method: "GET", path: "/readyz" })).status).toBe(200);
    expect(held.map(({ isOver }) => isOver())).toEqual([false, false, false]);
  });

  it("is counted by networks in IPv6", () => {
    expect(sourceOf("::ffff:192.0.2.1")).toBe("192.0.2.1");
    expect(sourceOf("192.0.2.1")).toBe("192.0.2.1");
    expect(sourceOf("2001:db8:1:2:3:4:5:6")).toBe(sourceOf("2001:db8:1:2::9"));
    expect(sourceOf("2001:db8::1")).toBe(sourceOf("2001:db8:0:0:1::"));
    expect(sourceOf("2001:db8:1:3::1")).not.toBe(sourceOf("2001:db8:1:2::1"));
    expect(sourceOf("::1")).toBe("0:0:0:0::/64");
    expect(sourceOf("fe80::1%eth0")).toBe(sourceOf("fe80::2"));
  });
});

describe.each([["port"], ["grpcPort"]] as const)("the number of streams of one connection, on the %s", (port) => {
  const path = `/${A2AService.typeName}/SendMessage`;
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
  const begin = (session: ClientHttp2Session) => {
    const stream = session
      .request(headers)
      .on("error", () => {})
      .resume();
    stream.end(envelope(bytesOf({ rpc: "SendMessage", request: messageOf("gate g") as never })));
    return stream;
  };

  it("is said in the settings, and what comes beyond it is refused", async () => {
    setConstants(connectionStreams, { max: 5 });
    const served = await serve();
    const session = connect(served[port]);
    // A client that opens streams before it has read the limit has each of them refused, and may try again.
    const streams = Array.from({ length: 9 }, () => begin(session));
    const refused = streams
      .slice(5)
      .map((stream) => new Promise((resolve) => stream.once("close", () => resolve(stream.rstCode))));
    expect(await Promise.all(refused)).toEqual(Array(4).fill(constants.NGHTTP2_REFUSED_STREAM));
    expect(session.remoteSettings.maxConcurrentStreams).toBe(5);
    served.gates.open("g");
    expect((await http1(served.port)({ method: "GET", path: "/readyz" })).status).toBe(200);
    expect(served.errors()).toEqual([]);
  });

  it("is 256 where nothing is said", async () => {
    const served = await serve();
    const session = connect(served[port]);
    await once(session, "remoteSettings");
    expect(session.remoteSettings.maxConcurrentStreams).toBe(256);
  });
});
