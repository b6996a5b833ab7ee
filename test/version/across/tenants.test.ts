import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Agent } from "../../../src/agent/agent.js";
import { httpBearerScheme } from "../../../src/auth/http-bearer.js";
import type { ServerOptions } from "../../../src/server/options.js";
import { cover } from "../../support/cover.js";
import { pairs } from "../../support/covering.js";
import { execute } from "../cases/agent.js";
import { exchange, type Outcome } from "../cases/exchange.js";
import { caseCard, openWorld } from "../cases/world.js";
import { say } from "./begin.js";
import { deeds } from "./deeds.js";
import { has, operations } from "./operations.js";
import { seen, seenEvents } from "./seen.js";
import { type Speaker, speakersIn, withHeaders } from "./speakers.js";

const tokens = [
  { owner: "alice", token: "token-of-alice" },
  { owner: "bob", token: "token-of-bob" },
];
const as = (owner: string): Record<string, string> => ({ Authorization: `Bearer token-of-${owner}` });

const agent: Agent = { card: caseCard, responds: "either", execute };
const secured: Agent = {
  ...agent,
  security: { schemes: { bearer: httpBearerScheme({ tokens }) } },
  extendedCard: caseCard,
};
/** Two agents, neither of them without a tenant. */
const two = (each: Agent): Partial<ServerOptions> =>
  ({ agent: undefined, authenticator: undefined, agents: { sales: each, support: each } }) as never;

type Opened = Awaited<ReturnType<typeof openWorld>>;

const sales = speakersIn("sales");
const support = speakersIn("support");

/** As long as the ids of tasks are, so that lengths are the same. */
const unknownId = "01a1fdef-a9b7-72bd-98a6-000000000000";

/** An answer as its client sees it, without the id that it asked for and the headers that differ from call to call. */
function shown({ headers, ...answer }: Outcome, id: string): string {
  const { date: _date, "x-request-id": _id, ...rest } = headers;
  return JSON.stringify({ answer, rest }).replaceAll(id, "<task>");
}

/** A client of 0.1 names its tasks itself: a message to an id that it does not have begins a task of its own. */
const isNewThere = (other: Speaker, operation: string): boolean =>
  other.version === "0.1" && operation.startsWith("send");

const others = cover(
  operations.flatMap(({ name: operation, request }) =>
    sales.flatMap((creator) =>
      sales.filter((here) => has(request, here)).map((here) => ({ operation, creator, here })),
    ),
  ),
  ({ operation, creator, here }) => pairs(operation, creator.name, here.name),
);
const done = cover(
  Object.keys(deeds).flatMap((deed) => sales.flatMap((creator) => sales.map((other) => ({ deed, creator, other })))),
  ({ deed, creator, other }) => pairs(deed, creator.name, other.name),
);
const asked = cover(
  sales.flatMap((speaker) =>
    operations.filter(({ request }) => has(request, speaker)).map((operation) => ({ speaker, operation })),
  ),
  ({ speaker: { name, version, binding }, operation }) => [name, ...pairs(version, binding, operation.name)],
);

describe.each(operations.map((operation) => [operation.name, operation] as const))(
  "%s: a task of one agent does not exist for the other, nor for another caller",
  (_name, { name: operation, request }) => {
    let world: Opened;
    beforeAll(async () => {
      world = await openWorld({ ...two(secured), limits: { shutdownGraceMs: 50, maxFailedAttempts: 100_000 } });
    });
    afterAll(() => world.close());

    for (const { creator, here } of others.filter((each) => each.operation === operation)) {
      it(`made by ${creator.name}, asked for by ${here.name}, and in support`, async () => {
        const there = support[sales.indexOf(here)] as Speaker;
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
  },
);

describe.each(Object.keys(deeds))("under a tenant, a client %s a task that another version began", (deed) => {
  let world: Opened;
  beforeAll(async () => {
    world = await openWorld(two(agent));
  });
  afterAll(() => world.close());

  for (const { creator, other } of done.filter((each) => each.deed === deed)) {
    it(`${other.name}, begun by ${creator.name}`, async () => deeds[deed]?.(world, creator, other));
  }
});

describe("callers of an agent with a tenant", () => {
  let world: Opened;
  beforeAll(async () => {
    world = await openWorld({ ...two(secured), limits: { shutdownGraceMs: 50, maxFailedAttempts: 100_000 } });
  });
  afterAll(() => world.close());

  for (const { speaker, operation } of asked) {
    const request = (id: string) => operation.request(speaker, { id, hook: world.webhook.urlOf("/hook") });
    it(`need credentials: ${operation.name}, ${speaker.name}`, async () => {
      const id = await say(world, speaker, { text: "buy me a new phone" }, as("alice"));
      for (const headers of [{}, { Authorization: "Bearer wrong" }]) {
        const outcome = await exchange(withHeaders(request(id) as never, headers), world);
        expect([401, "UNAUTHENTICATED"], JSON.stringify(outcome)).toContain(outcome.status);
        expect(outcome.events ?? []).toEqual([]);
      }
    });
  }
});
