import { afterEach, describe, expect, it } from "vitest";
import { completed, working } from "../../src/agent/event.js";
import type { A2AClient } from "../../src/client/client.js";
import { connectWith } from "../../src/client/connect.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import { completionReason } from "../../src/core/async.js";
import { agentOf, Servers } from "../delegation/servers.js";

const servers = new Servers();
let client: A2AClient | undefined;

afterEach(async () => {
  await client?.close();
  await servers.close();
});

/** A client of an agent that sends two pieces, with the signals of its calls. */
async function connected(binding: "GRPC" | "JSONRPC"): Promise<{ by: A2AClient; signals: AbortSignal[] }> {
  const agent = agentOf("Speaker", async function* () {
    yield working("first");
    yield completed("second");
  });
  const server = await servers.serve(agent);
  const signals: AbortSignal[] = [];
  const by = await connectWith(nodePlatform)(server.url, {
    bindings: [binding],
    interceptors: [
      (next) => (request) => {
        signals.push(request.signal);
        return next(request);
      },
    ],
  });
  client = by;
  return { by, signals };
}

describe.each(["GRPC", "JSONRPC"] as const)("the signal of a stream over %s", (binding) => {
  it("fires at the end without an error that is made for it", async () => {
    const { by, signals } = await connected(binding);
    for await (const _ of by.stream("speak"));
    expect(signals.length).toBe(1);
    expect(signals[0]?.reason).toBe(completionReason);
  });

  it("fires when its loop is left, and says so to nobody", async () => {
    const { by, signals } = await connected(binding);
    for await (const _ of by.stream("speak")) break;
    expect(signals[0]?.reason).toBe(completionReason);
  });

  it("fires for what its caller says, where that comes first", async () => {
    const { by, signals } = await connected(binding);
    const caller = new AbortController();
    const read = async (): Promise<void> => {
      for await (const _ of by.stream("speak", { signal: caller.signal })) caller.abort(new Error("enough"));
    };
    await expect(read()).rejects.toMatchObject({ reason: "CANCELLED" });
    expect(signals[0]?.aborted).toBe(true);
    expect(signals[0]?.reason).not.toBe(completionReason);
  });
});
