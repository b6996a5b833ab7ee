import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { A2AService } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { createTransport } from "../../../src/client/index.js";
import { atEnd } from "../world.js";

/** An empty message in its envelope. */
const nothing = Buffer.alloc(5);

/** Starts a gRPC server whose answers are empty, and notes the headers of its requests. */
async function noting(): Promise<{ address: string; requests: IncomingHttpHeaders[] }> {
  const requests: IncomingHttpHeaders[] = [];
  const server = createServer();
  server.on("stream", (stream, headers) => {
    requests.push(headers);
    stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(nothing);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  atEnd(() => server.close());
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

describe("the headers of gRPC calls", () => {
  it("are those of the method, the timeout and the call, whatever was called before", async () => {
    const { address, requests } = await noting();
    const transport = createTransport("GRPC", address);
    atEnd(() => transport.close());
    const { getTask, cancelTask } = A2AService.method;
    await transport.unary(getTask, undefined, 1_000, undefined, { id: "t" });
    await transport.unary(getTask, undefined, 1_000, { "x-own": "a" }, { id: "t" });
    await transport.unary(getTask, undefined, 1_000, undefined, { id: "t" });
    await transport.unary(cancelTask, undefined, 1_000, undefined, { id: "t" });
    await transport.unary(getTask, undefined, 2_000, undefined, { id: "t" });
    await transport.unary(getTask, undefined, undefined, undefined, { id: "t" });
    await transport.unary(getTask, undefined, 2_000, undefined, { id: "t" });
    const said = requests.map(({ ":path": path, ":authority": to, "grpc-timeout": timeout, "x-own": own }) => [
      ...[`${path}`.split("/").at(-1), to, timeout, own],
    ]);
    expect(said).toEqual([
      ["GetTask", address, "1000m", undefined],
      ["GetTask", address, "1000m", "a"],
      ["GetTask", address, "1000m", undefined],
      ["CancelTask", address, "1000m", undefined],
      ["GetTask", address, "2000m", undefined],
      ["GetTask", address, undefined, undefined],
      ["GetTask", address, "2000m", undefined],
    ]);
    for (const headers of requests) expect(headers).toMatchObject({ te: "trailers", "a2a-version": "1.0" });
  });
});
