import { setTimeout as sleep } from "node:timers/promises";
import {
  type Agent,
  AgentError,
  type AgentEvent,
  artifact,
  completed,
  inputRequired,
  reply,
  TaskState,
  type Turn,
  working,
} from "parley-a2a";
import { authRequired, rejected } from "parley-a2a/events";
import { card } from "./card.js";

/**
 * An agent to try a server or a client with. The first word of a message selects the behavior. A message that answers a
 * question continues it.
 */
const agent: Agent = {
  card,
  responds: "either",
  recover: (turn) => (wordsOf(turn.text)[0] === "wait" ? "restart" : "fail"),
  execute(turn) {
    const state = turn.task?.status?.state;
    if (state === TaskState.INPUT_REQUIRED) return answer(turn, "answer");
    if (state === TaskState.AUTH_REQUIRED) return answer(turn, "authorized");
    const behave = behaviours.get(wordsOf(turn.text)[0] ?? "") ?? echo;
    return behave(turn);
  },
};

export default agent;

type Behaviour = (turn: Turn) => AsyncIterable<AgentEvent>;

const behaviours: ReadonlyMap<string, Behaviour> = new Map<string, Behaviour>([
  ["echo", echo],
  ["say", say],
  ["stream", stream],
  ["wait", wait],
  ["ask", (turn) => one(inputRequired(restOf(turn) || "What do you mean?"))],
  ["auth", () => one(authRequired("Say when you have authorized the agent."))],
  ["reject", (turn) => one(rejected(restOf(turn) || "The agent does not do that."))],
  ["fail", fail],
  ["crash", crash],
  ["file", file],
  ["url", url],
  ["data", data],
  ["history", history],
]);

/** The text after the first word, or whatever else the message carries. */
async function* echo(turn: Turn): AsyncIterable<AgentEvent> {
  yield working();
  const text = wordsOf(turn.text)[0] === "echo" ? restOf(turn) : turn.text;
  yield artifact({ name: "echo", parts: text === "" ? turn.parts : [{ text }], lastChunk: true });
  yield completed();
}

/** A message and no task, unless the message came to a task. */
async function* say(turn: Turn): AsyncIterable<AgentEvent> {
  const text = restOf(turn) || "Hello.";
  yield turn.task === undefined ? reply(text) : completed(text);
}

/** Maximum size of one stream, in bytes. The store keeps all of it. */
const MAX_STREAM_BYTES = 256 * 1024 * 1024;

async function* stream(turn: Turn): AsyncIterable<AgentEvent> {
  const [, count, bytes, delay] = wordsOf(turn.text);
  const chunks = numberOf("the number of chunks", count, { from: 1, to: 100_000, default: 10 });
  const size = numberOf("the bytes of a chunk", bytes, { from: 1, to: 1_000_000, default: 16 });
  if (chunks * size > MAX_STREAM_BYTES) throw new AgentError("More than 256 MiB in one stream are too much.");
  const pause = numberOf("the delay in ms", delay, { from: 0, to: 60_000, default: 0 });
  yield working();
  for (let i = 1; i <= chunks; i++) {
    if (pause > 0 && i > 1) await sleep(pause, undefined, { signal: turn.signal });
    turn.signal.throwIfAborted();
    const text = `${i} `.padEnd(size, ".").slice(0, size);
    yield artifact({ name: "stream", text, append: i > 1, lastChunk: i === chunks });
  }
  yield completed();
}

async function* wait(turn: Turn): AsyncIterable<AgentEvent> {
  const ms = numberOf("the time in ms", wordsOf(turn.text)[1], { from: 0, to: 600_000, default: 1_000 });
  yield working(turn.attempt > 1 ? `Waiting again: attempt ${turn.attempt}.` : "Waiting.");
  await sleep(ms, undefined, { signal: turn.signal });
  yield completed(`Waited for ${ms} ms.`);
}

async function* answer(turn: Turn, name: string): AsyncIterable<AgentEvent> {
  yield working();
  yield artifact({ name, parts: turn.text === "" ? turn.parts : [{ text: turn.text }] });
  yield completed();
}

async function* fail(turn: Turn): AsyncIterable<AgentEvent> {
  yield working();
  throw new AgentError(restOf(turn) || "The agent failed as it was told to.");
}

/** Where a client must not learn why. */
async function* crash(): AsyncIterable<AgentEvent> {
  yield working();
  throw new Error("a secret that only the log may know");
}

async function* file(turn: Turn): AsyncIterable<AgentEvent> {
  const [, name = "probe.bin", length] = wordsOf(turn.text);
  const size = numberOf("the size in bytes", length, { from: 1, to: 4_000_000, default: 16 });
  const bytes = Uint8Array.from({ length: size }, (_, i) => i % 256);
  yield artifact({ name: "file", file: { bytes, name, mediaType: "application/octet-stream" } });
  yield completed();
}

async function* url(turn: Turn): AsyncIterable<AgentEvent> {
  const target = restOf(turn) || "https://example.org/";
  if (!URL.canParse(target)) throw new AgentError(`"${target.slice(0, 100)}" is not a URL.`);
  yield artifact({ name: "url", file: { url: target } });
  yield completed();
}

async function* data(turn: Turn): AsyncIterable<AgentEvent> {
  yield artifact({ name: "data", data: turn.data[0] ?? jsonOf(restOf(turn) || "{}") });
  yield completed();
}

/** The ids of the messages before this one. */
async function* history(turn: Turn): AsyncIterable<AgentEvent> {
  yield artifact({ name: "history", data: turn.history.map((message) => message.messageId) });
  yield completed();
}

async function* one(event: AgentEvent): AsyncIterable<AgentEvent> {
  yield event;
}

const wordsOf = (text: string): string[] => text.trim().split(/\s+/);

const restOf = (turn: Turn): string => turn.text.trim().replace(/^\S+\s*/, "");

function numberOf(what: string, text: string | undefined, may: { from: number; to: number; default: number }): number {
  if (text === undefined) return may.default;
  const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= may.from && number <= may.to) return number;
  throw new AgentError(`"${text.slice(0, 100)}" is not ${what}: a whole number from ${may.from} to ${may.to}.`);
}

function jsonOf(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    throw new AgentError("The text after the first word is not JSON.");
  }
}

type JsonValue = Turn["data"][number];
