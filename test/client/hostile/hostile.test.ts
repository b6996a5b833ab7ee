import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { pairs } from "../../support/covering.js";
import { sample } from "../../support/soak.js";
import { bundle } from "../../support/writer-thread.js";
import type { Asked } from "./client.js";
import { bindings, CARD_TEXT, type Harm, hostile, type Kind, TEXT } from "./server.js";

/** What the program may have of JavaScript's objects, in MiB: several times what an answer needs, a part of what it could be made to take. */
const HEAP_MIB = 96;

let child: ChildProcess | undefined;
afterAll(() => child?.kill("SIGKILL"));

async function message(from: ChildProcess): Promise<unknown> {
  const over = new AbortController();
  const ended = once(from, "exit", over).then(([code, signal]) => {
    child = undefined;
    throw new Error(`the client has ended (${code ?? signal})`);
  });
  try {
    return (await Promise.race([once(from, "message", over), ended]))[0];
  } finally {
    ended.catch(() => {});
    over.abort();
  }
}

/** What a client with little memory says of a call. */
async function outcome(asked: Asked): Promise<unknown> {
  if (child === undefined) {
    const script = fileURLToPath(bundle("hostile-client.js"));
    const execArgv = [`--max-old-space-size=${HEAP_MIB}`];
    child = fork(script, { execArgv, stdio: ["ignore", "ignore", "ignore", "ipc"] });
    await message(child);
  }
  child.send(asked);
  return message(child);
}

const harms: readonly [Harm, unknown][] = [
  ["empty values", "INVALID_AGENT_RESPONSE: The answer has more than 500000 values (maxAnswerValues)."],
  ["chunks of one byte", TEXT],
];

const noCard = "INVALID_AGENT_RESPONSE: here/.well-known/agent-card.json is not an agent card";

type Row = readonly [Asked["platform"], (typeof bindings)[number], Kind, Harm, expected: unknown];

const everyRow: readonly Row[] = harms.flatMap(([harm, expected]) =>
  bindings.flatMap((binding) =>
    (["unary", "stream"] as const).flatMap((kind) =>
      (binding === "GRPC" ? ["Node.js" as const] : (["Node.js", "web"] as const)).map(
        (platform) => [platform, binding, kind, harm, expected] as const,
      ),
    ),
  ),
);

const rows = sample(everyRow, ([platform, binding, kind, harm]) => pairs(platform, binding, kind, harm));

const cards: readonly Row[] = (["Node.js", "web"] as const).flatMap((platform) => [
  [platform, "JSONRPC", "card", "empty values", `${noCard}: it has more than 50000 values.`],
  [platform, "JSONRPC", "card", "chunks of one byte", CARD_TEXT],
]);

describe("a client with little memory outlives", () => {
  it.each([...rows, ...cards])(
    "on %s over %s, %s: %s",
    { timeout: 60_000 },
    async (platform, binding, kind: Kind, harm, expected) => {
      const server = await hostile(binding, kind, harm);
      try {
        expect(await outcome({ platform, binding, kind, url: server.url })).toBe(expected);
      } finally {
        server.close();
      }
    },
  );
});
