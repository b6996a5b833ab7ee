/** Subscribers of one task: the growth of delivery with their number, and the cost of one that does not read for the others. */
import { judge } from "../goals.js";
import { type Delivery, type DeliveryOrder, deliver } from "../harness/delivery.js";
import { median } from "../harness/rates.js";
import { type Bench, MB, type Row, type Scenario } from "../harness/scenario.js";

/** Loopback connections were seen to hold 4 MB between a server and a client that does not read. */
const PRELUDE = { count: 512, length: 16_384 };
const CHUNKS = { count: 300, length: 4_096 };

function row(name: string, deliveries: readonly Delivery[], figures: Row["figures"] = {}): Row {
  return {
    name,
    figures: {
      "events/s": median(deliveries.map(({ perSecond }) => perSecond)),
      ...figures,
      "server us CPU/event": Math.min(...deliveries.map(({ cpuMicros }) => cpuMicros)),
      "generator % CPU": 100 * median(deliveries.map(({ generatorBusy }) => generatorBusy)),
      "MB RSS, held": median(deliveries.map(({ heldRss }) => heldRss)) / MB,
      "MB heap and buffers, held": median(deliveries.map(({ heldHeap }) => heldHeap)) / MB,
      "MB RSS, most": median(deliveries.map(({ mostRss }) => mostRss)) / MB,
    },
  };
}

/** Deliveries without and with a stalled reader, by turns. */
async function pairs(bench: Bench, order: Omit<DeliveryOrder, "stalled">, rounds: number) {
  const none: Delivery[] = [];
  const one: Delivery[] = [];
  for (let round = 0; round < rounds; round++) {
    none.push(await deliver(bench, { ...order, stalled: 0 }));
    one.push(await deliver(bench, { ...order, stalled: 1 }));
  }
  const rate = median(one.map(({ perSecond }, round) => perSecond / (none[round]?.perSecond ?? Number.NaN)));
  const heldOf = (deliveries: readonly Delivery[]): number => median(deliveries.map(({ heldHeap }) => heldHeap));
  const cpuOf = (deliveries: readonly Delivery[]): number => Math.min(...deliveries.map(({ cpuMicros }) => cpuMicros));
  const [held, without] = [heldOf(one), heldOf(none)];
  return {
    none,
    one,
    rate,
    byCpu: cpuOf(none) / cpuOf(one),
    held: held / without,
    heldMore: held - without,
    catchUpMs: median(one.map(({ catchUpMs }) => catchUpMs)),
  };
}

/** The lines of both, with how the second compares. */
function compared(
  names: readonly [string, string],
  { none, one, rate, held, catchUpMs }: Awaited<ReturnType<typeof pairs>>,
) {
  return [
    row(names[0], none, { "x none stalled": 1, "x held": 1 }),
    row(names[1], one, { "x none stalled": rate, "x held": held, "ms to catch up": catchUpMs }),
  ] as const;
}

export const fanOut: Scenario = {
  name: "fan-out",
  async run(bench) {
    const { quick } = bench.options;
    const rounds = quick ? 1 : 3;
    // Of the delivery that is judged, which other work on the machine disturbs the most.
    const pairRounds = quick ? 1 : 5;
    const readers = quick ? 100 : 1_000;
    const series = "all read";
    const rows: Row[] = [];
    for (let few = quick ? readers : 1; few < readers; few *= 10) {
      const deliveries: Delivery[] = [];
      for (let round = 0; round < rounds; round++) {
        deliveries.push(await deliver(bench, { readers: few, stalled: 0, prelude: PRELUDE, chunks: CHUNKS }));
      }
      rows.push({ ...row(`${few} subscribers`, deliveries), series, at: few });
    }
    const name = `${readers.toLocaleString("en")} subscribers`;
    const found = await pairs(bench, { readers, prelude: PRELUDE, chunks: CHUNKS }, pairRounds);
    const [none, one] = compared([name, `${name}, one more stalled`], found);
    const targets = [{ ...judge("fanOutRate", found.rate), byCpu: found.byCpu }, judge("fanOutMemory", found.held)];
    rows.push({ ...none, series, at: readers }, { ...one, targets });
    return { title: `Subscribers of one task over SSE, ${CHUNKS.count} chunks of ${CHUNKS.length} bytes`, rows };
  },
};

export const stalled: Scenario = {
  name: "stalled",
  async run(bench) {
    const { quick } = bench.options;
    const prelude = { count: quick ? 512 : 4_096, length: 16_384 };
    const order = { readers: 10, prelude, chunks: { count: 10, length: 16_384 }, isWhole: true };
    const found = await pairs(bench, order, quick ? 1 : 3);
    const [none, one] = compared(["10 subscribers", "10 subscribers, one more stalled"], found);
    const missed = prelude.count * prelude.length;
    return {
      title: `A task that publishes ${Math.round(missed / MB)} MB and keeps 16 KB of it, SSE`,
      rows: [none, { ...one, targets: [judge("stalledMemory", found.heldMore / missed)] }],
    };
  },
};
