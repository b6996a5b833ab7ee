import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type A2AClient, connect } from "../../src/client/index.js";
import { CONNECT_BINDING } from "../../src/wire/card-names.js";
import { cardJson, serveCards } from "../client/card-server.js";
import { bindings, type Harm, hostile, TEXT } from "../client/hostile/server.js";
import { Figures, resident } from "../support/figures.js";
import { bundle } from "../support/writer-thread.js";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

/** Heap limit in MiB, far below the memory that a hostile answer could need. */
const HEAP_MIB = 96;

let child: ChildProcess;
let client: A2AClient;
beforeAll(async () => {
  const execArgv = [`--max-old-space-size=${HEAP_MIB}`];
  const stdio = ["ignore", "ignore", "ignore", "ipc"] as const;
  child = fork(fileURLToPath(bundle("hostile-delegation.js")), { execArgv, stdio: [...stdio] });
  const [url] = await once(child, "message");
  client = await connect(url);
});
afterAll(async () => {
  await client.close();
  child.kill("SIGKILL");
});

/** Sends a text to the delegating server. Returns the result of its task. */
async function sent(text: string): Promise<string> {
  const { state, task } = await client.conversation().send(text);
  return `${TaskState[state ?? 0]} ${task?.status?.message?.parts.map(({ content }) => content.value).join("")}`;
}

const harms: readonly (readonly [Harm, RegExp])[] = [
  ["empty values", /^FAILED .*could not do its part: INVALID_AGENT_RESPONSE\.$/],
  ["chunks of one byte", new RegExp(`^COMPLETED ${TEXT} characters$`)],
  ["an endless error", /^FAILED .*could not do its part: IN(?:VALID_AGENT_RESPONSE|TERNAL)\.$/],
];

const rows = bindings.flatMap((binding) => harms.map(([harm, expected]) => [binding, harm, expected] as const));

describe("a delegating server with little memory outlives a sub-agent", () => {
  it.each(rows)("over %s that answers with %s", async (binding, harm, expected) => {
    const server = await hostile({ binding, kind: "stream", harm });
    const protocolBinding = { CONNECT: CONNECT_BINDING, "GRPC-WEB": "GRPC-WEB" }[binding as string] ?? binding;
    const supportedInterfaces = [{ url: server.url, protocolBinding, protocolVersion: "1.0" }];
    const card = cardJson({ supportedInterfaces, capabilities: { streaming: true } });
    const { url } = await serveCards((_request, response) => {
      response.setHeader("content-type", "application/json").end(JSON.stringify(card));
    });
    try {
      const figures = await Figures.begin(() => resident(child.pid ?? 0));
      const attacked = sent(url);
      await figures.during(5, async () => expect(await sent("hello")).toBe("COMPLETED hello"));
      expect(await attacked).toMatch(expected);
      await figures.during(1, async () => expect(await sent("hello")).toBe("COMPLETED hello"));
      figures.print(`a sub-agent over ${binding} that answers with ${harm}`);
      expect(child.exitCode).toBeNull();
    } finally {
      server.close();
    }
  });
});
