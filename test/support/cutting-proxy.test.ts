import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CuttingProxy } from "./cutting-proxy.js";

describe("a proxy that is to cut so many times", () => {
  const server = createServer((socket) => socket.on("error", () => {}).pipe(socket));

  beforeAll(() => once(server.listen(0, "127.0.0.1"), "listening"));

  afterAll(() => void server.close());

  /** A proxy that lets three bytes through, on two of its connections. */
  const opened = (): Promise<CuttingProxy> =>
    CuttingProxy.open((server.address() as AddressInfo).port, { plan: () => ({ bytes: 3 }), most: 2 });

  const connected = ({ port }: CuttingProxy): Socket => connect(port, "127.0.0.1").on("error", () => {});

  /** True if all bytes come back before the connection is cut. */
  async function isEchoed(socket: Socket, bytes: string): Promise<boolean> {
    let left = bytes.length;
    const echoed = new Promise<boolean>((resolve) => {
      socket.on("data", (chunk) => {
        left -= chunk.length;
        if (left === 0) resolve(true);
      });
      socket.once("close", () => resolve(false));
    });
    socket.write(bytes);
    return echoed;
  }

  it("does so where a connection ends before its cut", async () => {
    const proxy = await opened();
    const first = connected(proxy);
    expect(await isEchoed(first, "abc")).toBe(true);
    first.destroy();
    const echoed: boolean[] = [];
    for (let nth = 0; nth < 3; nth++) echoed.push(await isEchoed(connected(proxy), "abcd"));
    expect([echoed, proxy.cuts]).toEqual([[false, false, true], 2]);
    await proxy.close();
  });

  it("does no more where others are open by then", async () => {
    const proxy = await opened();
    const sockets = [connected(proxy), connected(proxy), connected(proxy)];
    for (const socket of sockets) expect(await isEchoed(socket, "a")).toBe(true);
    const echoed: boolean[] = [];
    for (const socket of sockets) echoed.push(await isEchoed(socket, "bcd"));
    expect([echoed, proxy.cuts]).toEqual([[false, false, true], 2]);
    await proxy.close();
  });
});
