import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpBearerScheme } from "../../../src/auth/http-bearer.js";
import { cover } from "../../support/cover.js";
import { pairs } from "../../support/covering.js";
import { execute } from "../cases/agent.js";
import { exchange, type Outcome } from "../cases/exchange.js";
import { caseCard, openWorld } from "../cases/world.js";
import { say } from "./begin.js";
import { general, has, operations } from "./operations.js";
import { seen, seenEvents } from "./seen.js";
import { furtherSpeakers, type Speaker, speakers, withHeaders } from "./speakers.js";

const everySpeaker = [...speakers, ...furtherSpeakers];

const tokens = [
  { owner: "alice", token: "token-of-alice", scopes: ["use"] },
  { owner: "bob", token: "token-of-bob", scopes: ["use"] },
  { owner: "carol", token: "token-of-carol" },
];
const as = (owner: string): Record<string, string> => ({ Authorization: `Bearer token-of-${owner}` });

let world: Awaited<ReturnType<typeof openWorld>>;
beforeAll(async () => {
  world = await openWorld({
    preview: "1.1",
    limits: { shutdownGraceMs: 50, maxFailedAttempts: 100_000 },
    agent: {
      card: caseCard,
      responds: "either",
      security: { schemes: { bearer: httpBearerScheme({ tokens }) }, require: [{ bearer: ["use"] }] },
      extendedCard: caseCard,
      execute,
    },
  });
});
afterAll(() => world.close());

/** An answer as its client sees it, without the ids that it asked for and the headers that differ from call to call. */
function shown({ headers, ...answer }: Outcome, ...ids: string[]): string {
  const { date: _date, "x-request-id": _id, ...rest } = headers;
  // Connect has each detail of an error in base64, too, with the id in it.
  let text = JSON.stringify({ answer, rest }).replaceAll(/"value":"([\w+/]+)"/g, (_, value: string) =>
    JSON.stringify(Buffer.from(value, "base64").toString("latin1")),
  );
  for (const id of ids) text = text.replaceAll(id, "<task>");
  return text;
}

/** Statuses of HTTP and gRPC that refuse a caller. */
const unauthenticated = [401, "UNAUTHENTICATED"];
const forbidden = [403, "PERMISSION_DENIED"];

/** As long as the ids of tasks are, so that lengths are the same. */
const unknownId = "01a1fdef-a9b7-72bd-98a6-000000000000";

const asked = everySpeaker.flatMap((speaker) =>
  [...general, ...operations]
    .filter(({ request }) => has(request, speaker))
    .map((operation) => ({ speaker, operation })),
);
const covered = cover(asked, ({ speaker: { name, version, binding }, operation }) => [
  name,
  ...pairs(version, binding, operation.name),
]);

const calling = everySpeaker.filter((speaker) => covered.some((each) => each.speaker === speaker));

describe.each(calling.map((speaker) => [speaker.name, speaker] as const))("callers of %s", (_name, speaker) => {
  for (const { name: operation, request } of covered
    .filter((each) => each.speaker === speaker)
    .map((each) => each.operation)) {
    const asked = (id: string) => request(speaker, { id, hook: world.webhook.urlOf("/hook") });
    it(`${operation}: nobody without the right credentials`, async () => {
      const id = await say(world, speaker, { text: "buy me a new phone" }, as("alice"));
      const wrong = [{}, { Authorization: "Bearer wrong" }, { Authorization: "Basic YWxpY2U6eA==" }];
      for (const headers of wrong) {
        const outcome = await exchange(withHeaders(asked(id) as never, headers), world);
        expect(unauthenticated, JSON.stringify(outcome)).toContain(outcome.status);
        expect(outcome.headers["www-authenticate"]).toMatch(/^Bearer /);
        expect(outcome.events ?? []).toEqual([]);
      }
      const scope = await exchange(withHeaders(asked(id) as never, as("carol")), world);
      expect(forbidden, JSON.stringify(scope)).toContain(scope.status);
      // The task is unchanged.
      const task = seen(await exchange(withHeaders(speaker.get(id), as("alice")), world));
      expect(task).toMatchObject({ taskId: id, state: "input-required" });
    });
  }
});

/**
 * A client of 0.1 chooses the ids of its tasks. A message to another caller's id begins a new task, so the answer does
 * not reveal that the other task exists.
 */
const isNewThere = (other: Speaker, operation: string): boolean =>
  other.version === "0.1" && operation.startsWith("send");

const everyOther = operations.flatMap(({ name: operation, request }) =>
  everySpeaker
    .filter((other) => has(request, other))
    .flatMap((other) => speakers.map((creator) => ({ operation, creator, other }))),
);
const others = cover(everyOther, ({ operation, creator, other }) => pairs(operation, creator.name, other.name));

describe.each(operations.map((operation) => [operation.name, operation] as const))(
  "%s: what is Alice's does not exist for Bob",
  (operation, { request }) => {
    for (const { creator, other } of others.filter((each) => each.operation === operation)) {
      it(`made by ${creator.name}, asked for by ${other.name}`, async () => {
        const hook = world.webhook.urlOf(`/${randomUUID()}`);
        const taskId = await say(world, creator, { text: "buy me a new phone" }, as("alice"));
        await exchange(withHeaders(creator.setPush(taskId, { id: "a-configuration", url: hook }), as("alice")), world);
        const ask = async (id: string) =>
          exchange(withHeaders(request(other, { id, hook: `${hook}/bob` }) as never, as("bob")), world);
        const hers = await ask(taskId);
        expect(JSON.stringify(hers)).not.toContain(`${hook}"`);
        if (!isNewThere(other, operation)) {
          const none = await ask(unknownId);
          expect(shown(hers, taskId)).toBe(shown(none, unknownId));
          const [{ kind, error }] = seenEvents(hers) as [ReturnType<typeof seen>];
          expect({ kind, error: [-32001, "NOT_FOUND", "not_found", 404].includes(error as never) }).toEqual({
            kind: "error",
            error: true,
          });
        }
        const task = seen(await exchange(withHeaders(creator.get(taskId), as("alice")), world));
        expect(task).toMatchObject({ taskId, state: "input-required" });
      });
    }
  },
);
