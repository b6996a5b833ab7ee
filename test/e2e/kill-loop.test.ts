import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { some } from "../support/cover.js";
import { bindings } from "../support/drivers.js";
import { scaled } from "../support/soak.js";
import { expectSoundFile } from "../support/sound-file.js";
import { noDisk } from "./support/disk.js";
import { faultIn, type Order } from "./support/load.js";
import { type Moment, Siege } from "./support/siege.js";
import { generationIn, type Story, stateOf } from "./support/story.js";

/** Number of killed servers. `PARLEY_KILLS=5000 npx vitest run test/e2e/kill-loop.test.ts` runs for an hour. */
const wanted = Number(process.env.PARLEY_KILLS ?? scaled(10, 120));

/** Time for all kills in milliseconds. No round begins after it, so a slow machine has fewer kills. */
const enough = Math.max(wanted * 1_600, 240_000);

/** Minimum number of kills on any machine. */
const least = wanted / 2;

/** Kills in a checkpoint under load, for each store. They come last, because they make the file large. */
const floods = 3;

/** Two concurrent stores whose clients identify repeated sends in different ways. `npm test` uses the first one. */
const everyWay = ["idempotency key", "message id"] as const;
const ways = process.env.PARLEY_KILLS === undefined ? some(everyWay.slice(0, 1), everyWay.slice(1)) : everyWay;
const sieges = ways.map((way) => new Siege(way));

/** Moments at which the servers of each store are killed. */
const moments: readonly Moment[] = [
  ...(["load", "stopped", "start", "recovery", "shutdown", "last checkpoint", "file moved"] as const),
  ...(noDisk === undefined ? (["full disk"] as const) : []),
];

/** Number of streams over a binding that continued after a kill. */
const wentOn = ({ clients }: Siege, name: string): number =>
  clients
    .filter(({ binding }) => binding.name === name)
    .flatMap(({ load }) => load.orders)
    .filter(({ resumed }) => resumed > 0).length;

/**
 * True if a moment or a binding needs further rounds. A server may end before it is killed, and a kill may interrupt no
 * stream of a binding.
 */
const hasMissed = (siege: Siege): boolean =>
  moments.some((moment) => !siege.kills.has(moment)) || bindings.some(({ name }) => wentOn(siege, name) === 0);

const killed = (): number => sieges.reduce((sum, siege) => sum + siege.killed, 0);
const allOrders = (): Order[] => sieges.flatMap(({ orders }) => orders);

describe("servers that are killed again and again, whatever they are at", () => {
  let tasks: JsonObject[][];
  let logs: Map<Order, Story>;
  let inTime = true;

  beforeAll(async () => {
    const begin = Date.now();
    await Promise.all(
      sieges.map(async (siege) => {
        const share = wanted / sieges.length;
        for (let round = 0; (siege.killed < share - floods || hasMissed(siege)) && inTime; round++) {
          await siege.round(round);
          inTime &&= Date.now() - begin < enough;
        }
        // A round may find nothing to checkpoint, so the next one tries again. Repeated moments may have used up the
        // share of kills.
        const wants = (): boolean => siege.killed < share || !siege.kills.has("checkpoint under load");
        for (let round = 0; wants() && round < 2 * floods; round++) await siege.flood(round);
      }),
    );
    const ends = await Promise.all(sieges.map((siege) => siege.finish()));
    tasks = ends.map((end) => end.tasks);
    logs = new Map(ends.flatMap((end) => [...end.logs]));
  }, enough + 240_000);

  afterAll(() => Promise.all(sieges.map((siege) => siege.leave())));

  it(`are ${wanted}, killed in the middle of everything that they do`, () => {
    expect(killed()).toBeGreaterThanOrEqual(inTime ? wanted : least);
    const all: Moment[] = [...moments, "checkpoint under load"];
    for (const { kills } of sieges) expect([...kills.keys()]).toEqual(expect.arrayContaining(all));
  });

  it("keep what they acknowledged as it was, and break no call in another way than with the connection", () => {
    for (const [i, { orders, problems }] of sieges.entries()) {
      expect(problems).toEqual([]);
      const now = new Map(tasks[i]?.map((task) => [String(task.contextId), task]));
      for (const { key, acknowledged } of orders) {
        expect(now.get(key)).toMatchObject({ id: acknowledged?.id, status: acknowledged?.status as JsonObject });
      }
    }
  });

  it("have one task for each order, however often its message came", () => {
    for (const [i, { orders }] of sieges.entries()) {
      const contexts = tasks[i]?.map((task) => String(task.contextId));
      expect(contexts?.toSorted()).toEqual(orders.map(({ key }) => key).toSorted());
    }
  });

  it("have the generations of each task without a gap, and every event that a client was given", () => {
    for (const [order, log] of logs) {
      const expected = Array.from({ length: generationIn(order.acknowledged ?? {}) - 1 }, (_, i) => i + 2);
      expect([...log.events.keys()], order.key).toEqual(expected);
      for (const { events } of Object.values(order.stories)) {
        for (const [generation, event] of events) expect(log.events.get(generation), order.key).toEqual(event);
      }
    }
    expect(logs.size).toBe(allOrders().length);
  });

  it("let streams go on where they broke, over every binding", () => {
    for (const siege of sieges) {
      for (const { name } of bindings) expect(wentOn(siege, name), name).toBeGreaterThan(0);
    }
  });

  it("leave no task in the middle, and end each as its agent would", () => {
    const states = new Set(tasks.flat().map(stateOf));
    expect([...states].filter((state) => /WORKING|SUBMITTED|REQUIRED/.test(state))).toEqual([]);
    for (const order of allOrders()) {
      expect(faultIn(order), `${order.key} (${order.text}): ${JSON.stringify(order.acknowledged)}`).toBeUndefined();
    }
  });

  it("go on with what an agent had done, where it says so", () => {
    const again = allOrders().filter(({ text, cuts }) => text.startsWith("count") && cuts > 0);
    const done = again.filter(({ acknowledged }) => stateOf(acknowledged ?? {}) === "TASK_STATE_COMPLETED");
    expect(done.length).toBeGreaterThan(0);
  });

  it("leave files that are sound", () => {
    for (const { store, orders, strays } of sieges) expect(expectSoundFile(store)).toBe(orders.length + strays);
  });

  it("log nothing that an operator would have to look after", () => {
    for (const { logged } of sieges) expect(logged).toBe("");
  });
});
