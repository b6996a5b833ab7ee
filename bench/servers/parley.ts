/**
 * Parley on two ports. Arguments: `message`, `jwt` (the same, for callers with a token alone), `either` (the same, decided by
 * the first event), `conversation` (a reply that says how many of 20 messages of its conversation it read), `steps` or `task`,
 * then `memory` or the path of a SQLite file, then `telemetry` for spans by the API of OpenTelemetry, and `metrics` for metrics
 * that are read each second.
 */
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { Agent } from "../../src/agent/agent.js";
import { artifact, completed, reply, working } from "../../src/agent/event.js";
import { jwtScheme } from "../../src/auth/jwt.js";
import { createServer } from "../../src/server/create-server.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { sqliteStore } from "../../src/store/sqlite/index.js";
import { metricsText } from "../../src/telemetry/index.js";
import { chunkText, DONE_TEXT, orderOf, PRELUDE_TEXT, RESULT_TEXT, replyTo, WORKING_TEXT } from "./answers.js";
import { serve } from "./child.js";

const card: Agent["card"] = { name: "Bench", description: "Answers as fast as it can.", version: "1.0.0", skills: [] };

/** Time between two reads of the metrics, in milliseconds. */
const READ_MS = 1_000;

/** Agents that wait for the bench's sign. */
let waiting: (() => void)[] = [];
const sign = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));

const messageAgent: Agent = {
  card,
  responds: "message",
  async *execute(turn) {
    yield reply(replyTo(turn.text));
  },
};

const eitherAgent: Agent = { ...messageAgent, responds: "either" };

/** The same for callers with a token of an issuer, and such a token. */
async function guarded(): Promise<{ agent: Agent; token: string }> {
  const { publicKey, privateKey } = await generateKeyPair("RS256");
  const named = { issuer: "https://issuer.example", audience: "bench" };
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "RS256" }] };
  const token = await new SignJWT({ scope: "read write", email: "bench@issuer.example", roles: ["a", "b", "c"] })
    .setProtectedHeader({ alg: "RS256", kid: "k" })
    .setIssuer(named.issuer)
    .setAudience(named.audience)
    .setSubject("bench")
    .setIssuedAt()
    .setExpirationTime("12 hours")
    .sign(privateKey);
  const security = { schemes: { bearer: jwtScheme({ jwks, ...named }) }, require: [{ bearer: ["read"] }] };
  return { agent: { ...messageAgent, security }, token };
}

const conversationAgent: Agent = {
  ...messageAgent,
  async *execute(turn) {
    yield reply(`read ${(await turn.conversation.messages({ limit: 20 })).length}`);
  },
};

/** `steps <count> <ms>` or `events <count> <ms>`: so many of them, each of which is stored in the time before the next. */
const steppingAgent: Agent = {
  card,
  async *execute(turn) {
    const [what, count, ms] = turn.text.split(" ");
    for (let index = 0; index < Number(count); index++) {
      const text = chunkText(index);
      if (what === "steps") await turn.step("work", () => text);
      else yield artifact({ id: "work", name: "work", text });
      await new Promise<unknown>((resolve) => (ms === "0" ? setImmediate(resolve) : setTimeout(resolve, Number(ms))));
    }
    yield completed(DONE_TEXT);
  },
};

const agents: Readonly<Record<string, Agent>> = {
  message: messageAgent,
  either: eitherAgent,
  conversation: conversationAgent,
  steps: steppingAgent,
};

const taskAgent: Agent = {
  card,
  async *execute(turn) {
    const { wait, prelude, chunks } = orderOf(turn.text);
    yield working(WORKING_TEXT);
    if (wait) await sign();
    if (prelude !== undefined) {
      for (let index = 0; index < prelude.count; index++) {
        yield artifact({ id: "prelude", name: "prelude", text: chunkText(index, prelude.length) });
      }
      yield working(PRELUDE_TEXT);
      await sign();
    }
    if (chunks === undefined) {
      yield artifact({ name: "result", text: RESULT_TEXT, lastChunk: true });
      yield completed();
      return;
    }
    const { count, length } = chunks;
    for (let index = 0; index < count; index++) {
      yield artifact({ name: "result", text: chunkText(index, length), append: true, lastChunk: index + 1 === count });
    }
    yield completed(DONE_TEXT);
  },
};

const [, , kind, storage = "memory", ...told] = process.argv;
const { agent, token } = kind === "jwt" ? await guarded() : { agent: undefined, token: undefined };
const server = await createServer({
  agent: agent ?? agents[kind ?? ""] ?? taskAgent,
  store: storage === "memory" ? memoryStore() : sqliteStore(storage),
  host: "127.0.0.1",
  port: 0,
  grpcPort: 0,
  telemetry: told.includes("telemetry"),
  metrics: told.includes("metrics"),
  // All subscribers of the bench are one caller, and so are the owners of all tasks that a crash cut off.
  limits: { maxSubscriptionsPerTaskPerCaller: 20_000, maxOpenTasksPerOwner: 1_000_000 },
});

if (told.includes("metrics")) setInterval(() => metricsText(server), READ_MS);

serve(
  { http: server.port, grpc: server.grpcPort, rpcPath: "/", restPath: "", ...(token !== undefined && { token }) },
  () => {
    const all = waiting;
    waiting = [];
    for (const resolve of all) resolve();
  },
);
