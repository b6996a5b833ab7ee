import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stream } from "../../src/client/follow/send.js";
import { type Agent, artifact, completed, createServer, type Server } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { CuttingProxy } from "../support/cutting-proxy.js";
import { Gates } from "../support/gates.js";
import { clientBindings, coreOver } from "./cores.js";

const gates = new Gates();

const agent: Agent = {
  card: { name: "Slow", description: "Waits in the middle.", version: "1.0.0", skills: [] },
  async *execute({ text, signal }) {
    yield artifact({ id: "all", text: "a", append: true });
    await gates.pass(text, signal);
    yield artifact({ id: "all", text: "b", append: true });
    yield completed();
  },
};

describe("a connection that a broken router has silenced", () => {
  let server: Server;

  beforeAll(async () => {
    server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: 0, host: "127.0.0.1" });
  });

  afterAll(() => server.close({ graceMs: 0 }));

  // `stallMs` ends far sooner than HTTP/2 detects a dead connection, which takes longer than a test.
  it.each(clientBindings)("gets no further call after `stallMs`, over %s", async (binding) => {
    const isGrpc = binding === "GRPC";
    const proxy = await CuttingProxy.open(Number(isGrpc ? server.grpcPort : new URL(server.url).port));
    const core = coreOver(binding, isGrpc ? `127.0.0.1:${proxy.port}` : proxy.url);
    let text = "";
    for await (const update of stream(core, binding, { stallMs: 300 })) {
      if (update.kind === "artifact") text += update.text;
      if (text !== "a") continue;
      proxy.silence();
      gates.open(binding);
    }
    expect(text).toBe("ab");
    expect(proxy.connections).toBe(2);
    await Promise.all([core.close(), proxy.close()]);
  });
});
