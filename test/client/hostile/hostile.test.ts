import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it, vi } from "vitest";
import { pairs } from "../../support/covering.js";
import { sample } from "../../support/soak.js";
import { bundle } from "../../support/writer-thread.js";
import type { Asked } from "./client.js";
import { bindings, CARD_TEXT, type Harm, hostile, type Kind, TEXT } from "./server.js";

vi.setConfig({ testTimeout: 60_000 });

/**
 * Heap limit of the program in MiB. It is several times the need of a valid answer, and a part of the need of a hostile
 * one.
 */
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

/** Makes a call in a client with little memory. Returns its result. */
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

const tooManyValues = "INVALID_AGENT_RESPONSE: The answer has more than 500000 values (maxAnswerValues).";

const harms: readonly [Harm, unknown][] = [
  ["empty values", tooManyValues],
  ["chunks of one byte", TEXT],
];

/**
 * The expected result of an endless error. Bindings that read errors from the body read as much of it as of an answer.
 */
function endOf(binding: (typeof bindings)[number], kind: Kind): string {
  const isRead = ["JSONRPC", "HTTP+JSON"].includes(binding) || (binding === "CONNECT" && kind === "unary");
  if (isRead) return "INVALID_AGENT_RESPONSE: The answer has more than 67108864 bytes.";
  return "INTERNAL: The server answered with HTTP 500.";
}

const noCard = "INVALID_AGENT_RESPONSE: here/.well-known/agent-card.json is not an agent card";

type Row = readonly [Asked["platform"], (typeof bindings)[number], Kind, Harm, expected: unknown];

const everyRow: readonly Row[] = bindings.flatMap((binding) =>
  (["unary", "stream"] as const).flatMap((kind) =>
    (binding === "GRPC" ? ["Node.js" as const] : (["Node.js", "web"] as const)).flatMap((platform) =>
      [...harms, ["an endless error", endOf(binding, kind)] as const].map(
        ([harm, expected]) => [platform, binding, kind, harm, expected] as const,
      ),
    ),
  ),
);

const rows = sample(everyRow, ([platform, binding, kind, harm]) => pairs(platform, binding, kind, harm));

const cards: readonly Row[] = (["Node.js", "web"] as const).flatMap((platform) => [
  [platform, "JSONRPC", "card", "empty values", `${noCard}: it has more than 50000 values.`],
  [platform, "JSONRPC", "card", "chunks of one byte", CARD_TEXT],
]);

/** The bindings whose errors are JSON. */
const errors: readonly Row[] = (["JSONRPC", "HTTP+JSON", "CONNECT"] as const).map((binding, at) => [
  at % 2 === 0 ? "Node.js" : "web",
  binding,
  at % 2 === 0 ? "unary" : "stream",
  "an error of empty values",
  tooManyValues,
]);

const older: readonly (readonly [version: "0.1" | "0.3", ...Row])[] = [
  ["0.3", "Node.js", "JSONRPC", "unary", "empty values", tooManyValues],
  ["0.3", "web", "JSONRPC", "stream", "empty values", tooManyValues],
  ["0.3", "Node.js", "JSONRPC", "stream", "chunks of one byte", TEXT],
  ["0.3", "Node.js", "HTTP+JSON", "unary", "empty values", tooManyValues],
  ["0.3", "Node.js", "GRPC", "unary", "empty values", tooManyValues],
  ["0.1", "Node.js", "JSONRPC", "unary", "empty values", tooManyValues],
  ["0.1", "web", "JSONRPC", "unary", "chunks of one byte", TEXT],
];

async function expectOutcome(asked: Omit<Asked, "url">, harm: Harm, expected: unknown): Promise<void> {
  const server = await hostile({ ...asked, harm });
  try {
    expect(await outcome({ ...asked, url: server.url })).toBe(expected);
  } finally {
    server.close();
  }
}

describe("a client with little memory outlives", () => {
  it.each([...rows, ...cards, ...errors])("on %s over %s, %s: %s", (platform, binding, kind, harm, expected) =>
    expectOutcome({ platform, binding, kind, version: undefined }, harm, expected),
  );

  it.each(older)("with %s, on %s over %s, %s: %s", (version, platform, binding, kind, harm, expected) =>
    expectOutcome({ platform, binding, kind, version }, harm, expected),
  );
});
