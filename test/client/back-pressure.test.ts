import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stream } from "../../src/client/follow/send.js";
import { type Agent, artifact, createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { CuttingProxy } from "../support/cutting-proxy.js";
import { clientBindings, coreOver } from "./cores.js";

const PIECE = 64 * 1024;
const PIECES = 1_000;

/**
 * Maximum number of bytes in transit while the consumer is busy. They fill socket buffers at both ends of the proxy and
 * windows of HTTP/2.
 */
const MOST_ON_THE_WAY = 24 * 1024 * 1024;

const agent: Agent = {
  card: { name: "Much", description: "Says very much.", version: "1.0.0", skills: [] },
  async *execute() {
    for (let index = 0; index < PIECES; index++) yield artifact({ id: `a${index}`, text: "x".repeat(PIECE) });
  },
};

describe("a stream whose consumer is slow", () => {
  let server: Server;

  beforeAll(async () => {
    server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: 0, host: "127.0.0.1" });
  });

  afterAll(() => server.close());

  it.each(clientBindings)("is not read ahead of it, over %s", { timeout: 60_000 }, async (binding) => {
    const isGrpc = binding === "GRPC";
    const proxy = await CuttingProxy.open(Number(isGrpc ? server.grpcPort : new URL(server.url).port));
    const core = coreOver(binding, isGrpc ? `127.0.0.1:${proxy.port}` : proxy.url);
    let seen = 0;
    for await (const _ of stream(core, "Go.")) {
      if (++seen < 3) continue;
      // The consumer is busy until no more bytes arrive.
      for (let before = -1; before !== proxy.bytes; ) {
        before = proxy.bytes;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
      break;
    }
    expect(proxy.bytes).toBeGreaterThan(PIECE);
    expect(proxy.bytes).toBeLessThan(MOST_ON_THE_WAY);
    await Promise.all([core.close(), proxy.close()]);
  });
});
