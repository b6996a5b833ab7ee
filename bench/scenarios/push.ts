/** Push notifications: their rate beside a bare loop of the same client, and the costs of those that no receiver accepts. */
import { setTimeout as sleep } from "node:timers/promises";
import { judge } from "../goals.js";
import type { TestServer } from "../harness/child.js";
import { median } from "../harness/rates.js";
import { type Bench, CALLERS, MB, type Row, type Scenario } from "../harness/scenario.js";
import type { Usage } from "../protocol.js";

interface Stats {
  readonly count: number;
  readonly perSecond: number;
  readonly delayMs: number;
}

/** Maximum time until a receiver has its notifications, in milliseconds. */
const MOST_MS = 180_000;

const ROUNDS = 3;

/** Returns the statistics of a receiver after `count` notifications. The receiver then counts from 0 again. */
async function received(receiver: TestServer, count: number): Promise<Stats> {
  const url = `http://127.0.0.1:${receiver.at.http}`;
  for (const end = performance.now() + MOST_MS; performance.now() < end; await sleep(50)) {
    const stats = (await (await fetch(`${url}/stats`)).json()) as Stats;
    if (stats.count < count) continue;
    await fetch(`${url}/reset`);
    return stats;
  }
  throw new Error(`fewer than ${count} notifications came`);
}

interface Backlog {
  readonly tasks: number;
  readonly events: number;
  readonly hosts?: number;
  /** Number of hosts that do not answer. */
  readonly stalls?: 0 | 1;
}

/** A server on a file that has a backlog, before it begins. */
async function filled(
  bench: Bench,
  receiver: TestServer,
  { tasks, events, hosts = 1, stalls = 0 }: Backlog,
): Promise<TestServer> {
  const [path, port] = [bench.database(), String(receiver.at.http)];
  const first = stalls === 1 ? "stalls" : "answers";
  // By another process, so that this one has nothing of it in memory.
  const filler = await bench.start("push", path, port, "fill", ...[tasks, events, hosts].map(String), first);
  await filler.end();
  return bench.start("push", path, port, "deliver");
}

/** Has a backlog of tasks with `events` each delivered, and says how fast it went. */
async function backlog(
  bench: Bench,
  receiver: TestServer,
  order: Backlog,
): Promise<{ readonly stats: Stats; readonly cpuMicros: number }> {
  const { tasks, events, hosts = 1, stalls = 0 } = order;
  const server = await filled(bench, receiver, order);
  const before = await server.usage();
  await server.go();
  const count = events * (tasks - (stalls * tasks) / hosts);
  const stats = await received(receiver, count);
  const after = await server.usage();
  await server.end();
  return { stats, cpuMicros: (after.cpuMicros - before.cpuMicros) / count };
}

async function bare(bench: Bench, receiver: TestServer, count: number): Promise<{ stats: Stats; cpuMicros: number }> {
  const poster = await bench.start("bare-post", String(receiver.at.http), String(count), String(CALLERS));
  const before = await poster.usage();
  await poster.go();
  const stats = await received(receiver, count);
  const after = await poster.usage();
  await poster.end();
  return { stats, cpuMicros: (after.cpuMicros - before.cpuMicros) / count };
}

export const pushRate: Scenario = {
  name: "push-rate",
  async run(bench) {
    const receiver = await bench.start("receiver");
    // Enough that most compiling happens in the first tenth, which is not counted: three seconds of the slower lane.
    const [tasks, events] = bench.options.quick ? [200, 10] : [3_000, 20];
    const found = { bare: [] as number[], long: [] as number[], short: [] as number[], cpu: [0, 0, 0] };
    for (let round = 0; round < ROUNDS; round++) {
      const posted = await bare(bench, receiver, tasks * events);
      const long = await backlog(bench, receiver, { tasks, events });
      const short = await backlog(bench, receiver, { tasks: (tasks * events) / 4, events: 4 });
      found.bare.push(posted.stats.perSecond);
      found.long.push(long.stats.perSecond);
      found.short.push(short.stats.perSecond);
      found.cpu = [posted.cpuMicros, long.cpuMicros, short.cpuMicros];
    }
    const base = median(found.bare);
    const row = (name: string, rates: readonly number[], cpu = 0): Row => ({
      name,
      figures: { "notifications/s": median(rates), "x undici": median(rates) / base, "us CPU/notification": cpu },
    });
    const goal = judge("pushRate", median(found.short) / base);
    return {
      title: `Push notifications of a backlog, SQLite FULL, ${CALLERS} at once to one host`,
      rows: [
        row("undici alone", found.bare, found.cpu[0]),
        { ...row("Parley, tasks of four events", found.short, found.cpu[2]), targets: [goal] },
        row(`Parley, tasks of ${events} events`, found.long, found.cpu[1]),
      ],
    };
  },
};

export const pushDelay: Scenario = {
  name: "push-delay",
  async run(bench) {
    const receiver = await bench.start("receiver");
    const count = bench.options.quick ? 30 : 200;
    const pauseMs = 20;
    const url = `http://127.0.0.1:${receiver.at.http}/hook`;
    const server = await bench.start("push", bench.database(), String(receiver.at.http));
    const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "Say it." }] };
    const configuration = { returnImmediately: true, taskPushNotificationConfig: { url } };
    const sent = await fetch(`http://127.0.0.1:${server.at.http}/message:send`, {
      method: "POST",
      headers: { "content-type": "application/a2a+json", "a2a-version": "1.0" },
      body: JSON.stringify({ message, configuration }),
    });
    if (!sent.ok) throw new Error(await sent.text());
    await received(receiver, 1);
    for (let i = 0; i < count; i++) {
      await server.go();
      await sleep(pauseMs);
    }
    const parley = await received(receiver, count);
    const poster = await bench.start("bare-post", String(receiver.at.http), String(count), "1", String(pauseMs));
    await poster.go();
    const bare = await received(receiver, count);
    const more = parley.delayMs - bare.delayMs;
    return {
      title: "From an event that an agent yields to the receiver's first byte, idle server, SQLite FULL, median",
      rows: [
        { name: "undici alone", figures: { ms: bare.delayMs } },
        { name: "Parley", figures: { ms: parley.delayMs, "ms more": more }, targets: [judge("pushDelay", more)] },
      ],
    };
  },
};

export const pushDead: Scenario = {
  name: "push-dead",
  async run(bench) {
    const receiver = await bench.start("receiver");
    const [tasks, events, hosts] = bench.options.quick ? [400, 5, 100] : [2_000, 10, 100];
    const rates: [well: number[], dead: number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      rates[0].push((await backlog(bench, receiver, { tasks, events, hosts })).stats.perSecond);
      rates[1].push((await backlog(bench, receiver, { tasks, events, hosts, stalls: 1 })).stats.perSecond);
    }
    const [well, dead] = rates.map(median) as [number, number];
    return {
      title: "A hundred receivers, one of which does not answer: notifications that the others get",
      rows: [
        { name: "all answer", figures: { "notifications/s": well } },
        {
          name: "one does not",
          figures: { "notifications/s": dead, ratio: dead / well },
          targets: [judge("pushDead", dead / well)],
        },
      ],
    };
  },
};

/**
 * With 1,000 the file has a megabyte, and fills neither SQLite's caches nor, most of the time, the room that V8 takes for young objects as
 * soon as there is work: both have bounds, and no more of them is taken with more notifications. So the others are compared with 10,000.
 */
export const pushMemory: Scenario = {
  name: "push-memory",
  async run(bench) {
    const receiver = await bench.start("receiver");
    const [first, judged] = bench.options.quick ? [1_000, 5_000] : [10_000, 100_000];
    const counts = bench.options.quick ? [first, judged] : [1_000, first, judged, 300_000];
    const usages = new Map<number, Usage>();
    for (const count of counts) {
      const server = await filled(bench, receiver, { tasks: count, events: 1, stalls: 1 });
      await server.go();
      // Tries, put off and tried again.
      await sleep(20_000);
      usages.set(count, await server.usage(true));
      await server.end();
    }
    const base = usages.get(first)?.rss ?? Number.NaN;
    const rows = [...usages].map(([count, { rss, heap, external }]): Row => {
      const ratio = rss / base;
      const column = `x RSS of ${first.toLocaleString("en")}`;
      const targets = count === judged ? { targets: [judge("pushMemory", ratio)] } : {};
      const figures = { "MB RSS": rss / MB, [column]: ratio, "MB heap": heap / MB, "MB external": external / MB };
      return { name: `${count.toLocaleString("en")} undelivered`, at: count, series: "RSS", figures, ...targets };
    });
    return { title: "Memory with notifications that nobody takes, SQLite, settled", rows };
  },
};
