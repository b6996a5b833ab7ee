/** One stream of many artifact chunks, from the request to the end: what a chunk costs must not grow with the task. */
import { grpcStream, rpcStream } from "../calls.js";
import { type GoalName, type Judged, judge } from "../goals.js";
import type { TestServer } from "../harness/child.js";
import { median } from "../harness/rates.js";
import type { Bench, Row, Scenario } from "../harness/scenario.js";
import type { WireCall } from "../protocol.js";
import { DONE_TEXT } from "../servers/answers.js";

interface StreamLane {
  readonly name: string;
  readonly server: TestServer;
  /** The longest stream that it is asked for by turns with the others. */
  readonly most: number;
}

/** Number of streams of each length that are measured. */
const REPEATS: readonly (readonly [chunks: number, full: number, quick: number])[] = [
  [100, 20, 5],
  [1_000, 10, 2],
  [10_000, 5, 1],
  [100_000, 3, 0],
];

const SQLITE = "Parley, SQLite FULL";
const PEER = "peer, in memory";

/** Maximum time of the peer for its stream of 10,000 chunks, in milliseconds. */
const PEER_LIMIT_MS = 240_000;
const PEER_MOST = 1_000;
const PEER_LONGEST = 10_000;

/** Events of a stream besides its chunks: the task, working, completed. */
const OTHER_EVENTS = 3;

type Send = (server: TestServer, text: string, expect: string) => WireCall;

/** One stream: how long it took, and the CPU time of the server, both in milliseconds. */
interface Streamed {
  readonly ms: number;
  readonly cpuMs: number;
  readonly isCutOff: boolean;
}

async function once(bench: Bench, call: WireCall, server: TestServer, chunks: number): Promise<Streamed> {
  const before = await server.usage();
  const limit = { limitMs: PEER_LIMIT_MS };
  const { events, ms, isCutOff } = await bench.load.run({ kind: "stream", call, ...limit });
  // A server that was cut off is busy and cannot be asked.
  if (isCutOff) return { ms, cpuMs: Number.NaN, isCutOff };
  if (events !== chunks + OTHER_EVENTS) throw new Error(`a stream of ${chunks} chunks had ${events} events`);
  return { ms, cpuMs: ((await server.usage()).cpuMicros - before.cpuMicros) / 1_000, isCutOff };
}

/** Streams of this length by turns, by the names of their lanes. */
async function measure(bench: Bench, send: Send, lanes: readonly StreamLane[], chunks: number, repeats: number) {
  const found = new Map<string, Streamed[]>();
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (const { name, server, most } of lanes) {
      if (chunks > most) continue;
      const streamed = await once(bench, send(server, `chunks ${chunks} 0`, DONE_TEXT), server, chunks);
      if (streamed.isCutOff) throw new Error(`${name} did not end a stream of ${chunks} chunks`);
      found.set(name, [...(found.get(name) ?? []), streamed]);
    }
  }
  return found;
}

const timeOf = (streamed: readonly Streamed[] = []): number => median(streamed.map(({ ms }) => ms));

/** The lines of one length, and what they cost beside shorter streams. */
function rowsOf(chunks: number, found: ReadonlyMap<string, readonly Streamed[]>, costs: Map<string, number>): Row[] {
  return [...found].map(([series, streamed]) => {
    const ms = timeOf(streamed);
    const micros = (ms * 1_000) / chunks;
    costs.set(`${chunks} ${series}`, micros);
    const growth = (from: number): number => micros / (costs.get(`${from} ${series}`) ?? Number.NaN);
    const figures = {
      ms,
      "us/chunk": micros,
      "x peer": timeOf(found.get(PEER)) / ms,
      "x cost at 1,000": chunks < 1_000 ? Number.NaN : growth(1_000),
      "x cost at 10,000": chunks < 10_000 ? Number.NaN : growth(10_000),
      "server us CPU/chunk": (Math.min(...streamed.map(({ cpuMs }) => cpuMs)) * 1_000) / chunks,
    };
    return { name: `${chunks.toLocaleString("en")} chunks, ${series}`, series, at: chunks, figures };
  });
}

/** The peer's one long stream, last of all, and what it means for ours. Its server does not live after it. */
async function longPeer(bench: Bench, send: Send, { server }: StreamLane, ours: number, goal: GoalName) {
  const call = send(server, `chunks ${PEER_LONGEST} 0`, DONE_TEXT);
  const { ms, isCutOff } = await once(bench, call, server, PEER_LONGEST);
  await server.end();
  const judged = judge(goal, ms / ours);
  const name = `${PEER_LONGEST.toLocaleString("en")} chunks, ${PEER}`;
  const figures = { ms, "us/chunk": (ms * 1_000) / PEER_LONGEST, "x peer": 1 };
  const note = isCutOff ? "cut off: its time is this or more" : "once";
  const row: Row = { name, series: PEER, at: PEER_LONGEST, figures, note };
  // Cut off below the goal, it says nothing.
  const targets: Judged[] = !isCutOff ? [judged] : judged.met ? [{ ...judged, orMore: true }] : [];
  return { row, targets, ratio: ms / ours, ...(isCutOff ? { note: "x peer: this or more" } : {}) };
}

interface StreamsOf {
  readonly name: string;
  readonly title: string;
  readonly growth: GoalName;
  /** The goal that the peer's long stream is measured for. */
  readonly peer?: GoalName;
  readonly send: Send;
}

function streams({ name, title, growth, peer, send }: StreamsOf): Scenario {
  return {
    name,
    async run(bench) {
      const { quick } = bench.options;
      const peerLane = { name: PEER, server: await bench.start("peer", "task"), most: PEER_MOST };
      const lanes: StreamLane[] = [
        { name: SQLITE, server: await bench.start("parley", "task", bench.database()), most: 100_000 },
        { name: "Parley, in memory", server: await bench.start("parley", "task", "memory"), most: 100_000 },
        peerLane,
      ];
      await measure(bench, send, lanes, quick ? 100 : 1_000, 3);
      const costs = new Map<string, number>();
      let rows: Row[] = [];
      for (const [chunks, full, short] of REPEATS) {
        rows.push(...rowsOf(chunks, await measure(bench, send, lanes, chunks, quick ? short : full), costs));
      }
      const judged = (at: number, more: Pick<Row, "targets" | "note">, ratio?: number): void => {
        rows = rows.map((row) => {
          if (row.series !== SQLITE || row.at !== at) return row;
          return { ...row, ...more, ...(ratio === undefined ? {} : { figures: { ...row.figures, "x peer": ratio } }) };
        });
      };
      const costAt = (chunks: number): number => costs.get(`${chunks} ${SQLITE}`) ?? Number.NaN;
      judged(100_000, { targets: [judge(growth, costAt(100_000) / costAt(1_000))] });
      if (!quick && peer !== undefined) {
        const ours = (costAt(PEER_LONGEST) * PEER_LONGEST) / 1_000;
        const { row, ratio, ...found } = await longPeer(bench, send, peerLane, ours, peer);
        judged(PEER_LONGEST, found, ratio);
        rows.push(row);
      } else if (peer !== undefined) {
        const skipped = `${PEER_LONGEST.toLocaleString("en")} chunks, ${PEER}`;
        rows.push({ name: skipped, figures: {}, note: "skipped: takes minutes" });
      }
      return { title: `One stream over ${title}`, rows };
    },
  };
}

export const sseStreams: Scenario = streams({
  name: "sse-streams",
  title: "SSE (JSON-RPC)",
  growth: "sseGrowth",
  peer: "sseStreamPeer",
  send: rpcStream,
});

export const grpcStreams: Scenario = streams({
  name: "grpc-streams",
  title: "gRPC",
  growth: "grpcGrowth",
  send: grpcStream,
});
