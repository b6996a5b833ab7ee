/** An agent that asks another one, each in a process of its own, beside a message that is sent to the other one itself. */
import { rpcSend } from "../calls.js";
import { isCompletedTask } from "../checks.js";
import { type Judged, judge } from "../goals.js";
import type { TestServer } from "../harness/child.js";
import { type Generator, type Lane, ownGenerator, Rates } from "../harness/rates.js";
import type { Bench, Row, Scenario } from "../harness/scenario.js";
import { DONE_TEXT, RESULT_TEXT } from "../servers/answers.js";

/** Pieces of the sub-task's artifact, each an event. */
const EVENTS = [1, 20, 200, 2_000];
const EVENTS_QUICK = [1, 20, 200];

/** Number of events of a sub-task. The cost of one event is compared with that in a sub-task of a tenth. */
const JUDGED = 2_000;

/** Number of callers, fewer than elsewhere, because each call is work for two servers. */
const CALLERS = 10;

const COLUMN = "the other alone";

/** Two servers, of which the first one asks the second. */
interface Pair {
  readonly store: string;
  readonly asking: TestServer;
  readonly other: TestServer;
}

async function pair(bench: Bench, store: string, place: () => string): Promise<Pair> {
  const other = await bench.start("parley", "task", place());
  const asking = await bench.start("delegating", `http://127.0.0.1:${other.at.http}`, place());
  return { store, asking, other };
}

/** The lanes, and what the other server used for a call of each, in microseconds, in the least disturbed round. */
async function measure(bench: Bench, { other }: Pair, lanes: readonly Lane[]) {
  const micros = new Map<string, number>();
  const generate: Generator = async (bench, lane, ms) => {
    const before = await other.usage();
    const loaded = await ownGenerator(bench, lane, ms);
    const used = ((await other.usage()).cpuMicros - before.cpuMicros) / loaded.calls;
    micros.set(lane.name, Math.min(used, micros.get(lane.name) ?? Number.POSITIVE_INFINITY));
    return loaded;
  };
  const rates = await Rates.measure(bench, lanes, generate);
  return { rates, othersMicros: (lane: string) => micros.get(lane) ?? Number.NaN };
}

/** Tasks of four events, asked for in every way. */
async function tasks(bench: Bench, servers: Pair): Promise<Row[]> {
  const { asking, other, store } = servers;
  const lane = (name: string, server: TestServer, text: string): Lane => {
    const call = rpcSend(server, text, RESULT_TEXT);
    return { name: `${name}, ${store}`, server, call, check: isCompletedTask, callers: CALLERS };
  };
  const sent = lane("sent to the other", other, "task");
  const asked = [lane("turn.call", asking, "call task"), lane("turn.delegate", asking, "delegate task")];
  const { rates, othersMicros } = await measure(bench, servers, [sent, ...asked]);
  const rows = asked.map(({ name }) => {
    const row = rates.row(name, sent.name, { column: COLUMN });
    return { ...row, figures: { ...row.figures, "other's us CPU/call": othersMicros(name) } };
  });
  return [rates.row(sent.name, sent.name, { column: COLUMN }), ...rows];
}

/** Sub-tasks of more and more events. */
async function growth(bench: Bench, servers: Pair): Promise<Row[]> {
  const { asking, other, store } = servers;
  const rows: Row[] = [];
  const costs = new Map<number, number>();
  for (const events of bench.options.quick ? EVENTS_QUICK : EVENTS) {
    const lane = (name: string, server: TestServer, ask: string): Lane => {
      return { name, server, call: rpcSend(server, `${ask}chunks ${events} 0`, DONE_TEXT), callers: CALLERS };
    };
    const lanes = [lane("sent", other, ""), lane("delegated", asking, "delegate ")];
    const { rates, othersMicros } = await measure(bench, servers, lanes);
    const perEvent = rates.cpuMicros("delegated") / events;
    costs.set(events, perEvent);
    const { figures, ...row } = rates.row("delegated", "sent", { column: COLUMN });
    rows.push({
      ...row,
      name: `${events.toLocaleString("en")} ${events === 1 ? "event" : "events"}, turn.delegate, ${store}`,
      series: store,
      at: events,
      figures: { ...figures, "other's us CPU/call": othersMicros("delegated"), "us CPU/event": perEvent },
      targets: events === JUDGED ? judgedGrowth(perEvent, costs.get(JUDGED / 10)) : [],
    });
  }
  return rows;
}

function judgedGrowth(perEvent: number, before = Number.NaN): Judged[] {
  return [judge("delegationGrowth", perEvent / before)];
}

export const delegation: Scenario = {
  name: "delegation",
  async run(bench) {
    const rows: Row[] = [];
    let servers = await pair(bench, "in memory", () => "memory");
    rows.push(...(await tasks(bench, servers)));
    if (!bench.options.quick) {
      await Promise.all([servers.asking.end(), servers.other.end()]);
      servers = await pair(bench, "SQLite FULL", () => bench.database());
      rows.push(...(await tasks(bench, servers)));
    }
    rows.push(...(await growth(bench, servers)));
    return { title: `Tasks of an agent that asks another one, JSON-RPC, ${CALLERS} callers`, rows };
  },
};
