import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Agent } from "../../../src/agent/agent.js";
import { httpBearer } from "../../../src/auth/http-bearer.js";
import type { ServerOptions } from "../../../src/server/options.js";
import { execute } from "../cases/agent.js";
import { exchange, type Outcome } from "../cases/exchange.js";
import { caseCard, openWorld } from "../cases/world.js";
import { say } from "./begin.js";
import { deeds } from "./deeds.js";
import { operations } from "./operations.js";
import { seen, seenEvents } from "./seen.js";
import { type Speaker, speakersIn, withHeaders } from "./speakers.js";

const tokens = [
  { owner: "alice", token: "token-of-alice" },
  { owner: "bob", token: "token-of-bob" },
];
const as = (owner: string): Record<string, string> => ({ Authorization: `Bearer token-of-${owner}` });

const agent: Agent = { card: caseCard, responds: "either", execute };
const secured: Agent = { ...agent, security: { schemes: { bearer: httpBearer({ tokens }) } }, extendedCard: caseCard };
/** Two agents, neither of them without a tenant. */
const two = (each: Agent): Partial<ServerOptions> =>
  ({ agent: undefined, authenticator: undefined, agents: { sales: each, support: each } }) as never;

type Opened = Awaited<ReturnType<typeof openWorld>>;

const sales = speakersIn("sales");
const support = speakersIn("support");

/** As long as the ids of tasks are, so that lengths are the same. */
const unknownId = "01a1fdef-a9b7-72bd-98a6-000000000000";

/** What a client sees of an answer, but for what differs from call to call, and the ids that it asked for. */
function shown({ headers, ...answer }: Outcome, id: string): string {
  const { date: _date, "x-request-id": _id, ...rest } = headers;
  return JSON.stringify({ answer, rest }).replaceAll(id, "<task>");
}

/** A client of 0.1 names its tasks itself: a message to an id that it does not have begins a task of its own. */
const isNewThere = (other: Speaker, operation: string): boolean =>
  other.version === "0.1" && operation.startsWith("send");

describe.each(operations.map((operation) => [operation.name, operation] as const))(
  "%s: a task of one agent does not exist for the other, nor for another caller",
  (_name, { name: operation, request }) => {
    let world: Opened;
    beforeAll(async () => {
      world = await openWorld({ ...two(secured), limits: { shutdownGraceMs: 50, maxFailedAttempts: 100_000 } });
    });
    afterAll(() => world.close());

    for (const creator of sales) {
      for (const [i, here] of sales.entries()) {
        if (request(here, { id: "x", hook: "x" }) === undefined) continue;
        it(`made by ${creator.name}, asked for by ${here.name}, and in support`, async () => {
          const there = support[i] as Speaker;
          const hook = world.webhook.urlOf(`/${randomUUID()}`);
          const taskId = await say(world, creator, { text: "buy me a new phone" }, as("alice"));
          const config = creator.setPush(taskId, { id: "a-configuration", url: hook });
          await exchange(withHeaders(config, as("alice")), world);
          for (const [speaker, owner] of [
            [there, "alice"],
            [here, "bob"],
            [there, "bob"],
          ] as const) {
            const ask = (id: string): Promise<Outcome> =>
              exchange(withHeaders(request(speaker, { id, hook: `${hook}/other` }) as never, as(owner)), world);
            const hers = await ask(taskId);
            expect(JSON.stringify(hers)).not.toContain(`${hook}"`);
            if (isNewThere(speaker, operation)) continue;
            expect([speaker.name, owner, shown(hers, taskId)]).toEqual([
              speaker.name,
              owner,
              shown(await ask(unknownId), unknownId),
            ]);
            const [{ kind, error }] = seenEvents(hers) as [ReturnType<typeof seen>];
            expect([kind, [-32001, "NOT_FOUND", 404].includes(error as never)]).toEqual(["error", true]);
          }
          const task = seen(await exchange(withHeaders(creator.get(taskId), as("alice")), world));
          expect(task).toMatchObject({ taskId, state: "input-required" });
        });
      }
    }
  },
);

describe.each(Object.keys(deeds))("under a tenant, a client %s a task that another version began", (deed) => {
  let world: Opened;
  beforeAll(async () => {
    world = await openWorld(two(agent));
  });
  afterAll(() => world.close());

  for (const creator of sales) {
    for (const other of sales) {
      it(`${other.name}, begun by ${creator.name}`, async () => deeds[deed]?.(world, creator, other));
    }
  }
});

describe("callers of an agent with a tenant", () => {
  let world: Opened;
  beforeAll(async () => {
    world = await openWorld({ ...two(secured), limits: { shutdownGraceMs: 50, maxFailedAttempts: 100_000 } });
  });
  afterAll(() => world.close());

  for (const speaker of sales) {
    for (const { name: operation, request } of operations) {
      const asked = (id: string) => request(speaker, { id, hook: world.webhook.urlOf("/hook") });
      if (request(speaker, { id: "x", hook: "x" }) === undefined) continue;
      it(`need credentials: ${operation}, ${speaker.name}`, async () => {
        const id = await say(world, speaker, { text: "buy me a new phone" }, as("alice"));
        for (const headers of [{}, { Authorization: "Bearer wrong" }]) {
          const outcome = await exchange(withHeaders(asked(id) as never, headers), world);
          expect([401, "UNAUTHENTICATED"], JSON.stringify(outcome)).toContain(outcome.status);
          expect(outcome.events ?? []).toEqual([]);
        }
      });
    }
  }
});
