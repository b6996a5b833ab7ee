import { afterEach, describe, expect, it } from "vitest";
import { completed } from "../../src/agent/event.js";
import type { A2AClient } from "../../src/client/client.js";
import { connectWith } from "../../src/client/connect.js";
import { nodePlatform } from "../../src/client/node/platform.js";
import { agentOf, Servers } from "../delegation/servers.js";

const servers = new Servers();
let client: A2AClient | undefined;
const warnings: Error[] = [];
const note = (warning: Error): number => warnings.push(warning);

afterEach(async () => {
  process.off("warning", note);
  await client?.close();
  await servers.close();
});

const calls = ["sends", "reads", "reads without a deadline", "streams"] as const;

/** Makes one call of a kind. */
async function call(kind: (typeof calls)[number], by: A2AClient, signal: AbortSignal): Promise<unknown> {
  if (kind === "sends") return by.send("x", { signal });
  if (kind === "reads") return by.listTasks({}, { signal });
  if (kind === "reads without a deadline") return by.listTasks({}, { signal, timeoutMs: 0 });
  for await (const _ of by.stream("x", { signal }));
  return undefined;
}

describe.each(["GRPC", "JSONRPC"] as const)("one signal over %s", (binding) => {
  it.each(calls)("is for any number of %s, without a warning of too many listeners", async (kind) => {
    const done = agentOf("Done", async function* () {
      yield completed("done");
    });
    const server = await servers.serve(done);
    const by = await connectWith(nodePlatform)(server.url, { bindings: [binding] });
    client = by;
    const { signal } = new AbortController();
    process.on("warning", note);
    await Promise.all(Array.from({ length: 15 }, () => call(kind, by, signal)));
    // Node.js emits warnings in a later turn of the event loop.
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(warnings.splice(0).map(({ message }) => message)).toEqual([]);
  });
});
