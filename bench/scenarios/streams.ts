/** One stream of many artifact chunks, from the request to the end: what a chunk costs must not grow with the task. */
import { grpcStream, rpcStream } from "../calls.js";
import type { TestServer } from "../harness/child.js";
import { median } from "../harness/rates.js";
import { atMost, type Bench, type Row, type Scenario, type Target } from "../harness/scenario.js";
import type { WireCall } from "../protocol.js";
import { DONE_TEXT } from "../servers/answers.js";

interface StreamLane {
  readonly name: string;
  readonly server: TestServer;
  /** The longest stream it is asked for. */
  readonly most: number;
}

/** How often each length is measured. */
const REPEATS: readonly (readonly [chunks: number, full: number, quick: number])[] = [
  [100, 20, 5],
  [1_000, 10, 2],
  [10_000, 3, 1],
  [100_000, 1, 0],
];

const PEER = "peer, in memory";

/** Events of a stream besides its chunks: the task, working, completed. */
const OTHER_EVENTS = 3;

type Send = (server: TestServer, text: string, expect: string) => WireCall;

async function once(bench: Bench, send: Send, server: TestServer, chunks: number): Promise<number> {
  const call = send(server, `chunks ${chunks} 0`, DONE_TEXT);
  const { events, ms } = await bench.load.run({ kind: "stream", call });
  if (events !== chunks + OTHER_EVENTS) throw new Error(`a stream of ${chunks} chunks had ${events} events`);
  return ms;
}

/** Milliseconds of each lane's stream of this length. */
async function measure(bench: Bench, send: Send, lanes: readonly StreamLane[], chunks: number, repeats: number) {
  const times = new Map<string, number[]>();
  for (let repeat = 0; repeat < repeats; repeat++) {
    for (const { name, server, most } of lanes) {
      if (chunks > most) continue;
      const ms = await once(bench, send, server, chunks);
      times.set(name, [...(times.get(name) ?? []), ms]);
    }
  }
  return new Map([...times].map(([name, all]) => [name, median(all)]));
}

function targetsOf(chunks: number, ms: number, growth: number): Target[] {
  if (chunks === 10_000) return [atMost(ms, 1_250, "ms")];
  if (chunks === 100_000) return [atMost(growth, 1.3, "x cost of 1,000")];
  return [];
}

function streams(binding: string, title: string, send: Send): Scenario {
  return {
    name: `${binding}-streams`,
    async run(bench) {
      const { quick, peer10000 } = bench.options;
      const lanes: StreamLane[] = [
        { name: "Parley, SQLite FULL", server: await bench.start("parley", "task", bench.database()), most: 100_000 },
        { name: "Parley, in memory", server: await bench.start("parley", "task", "memory"), most: 100_000 },
        { name: PEER, server: await bench.start("peer", "task"), most: peer10000 ? 10_000 : 1_000 },
      ];
      await measure(bench, send, lanes, quick ? 100 : 1_000, 3);
      const rows: Row[] = [];
      const costs = new Map<string, number>();
      for (const [chunks, full, short] of REPEATS) {
        const times = await measure(bench, send, lanes, chunks, quick ? short : full);
        for (const [name, ms] of times) {
          const micros = (ms * 1_000) / chunks;
          if (chunks === 1_000) costs.set(name, micros);
          const growth = micros / (costs.get(name) ?? Number.NaN);
          const figures = {
            ms,
            "us/chunk": micros,
            "x peer": (times.get(PEER) ?? Number.NaN) / ms,
            "x cost of 1,000": growth,
          };
          const targets = name === PEER ? [] : targetsOf(chunks, ms, growth);
          rows.push({ name: `${chunks.toLocaleString("en")} chunks, ${name}`, figures, targets });
        }
      }
      return { title: `One stream over ${title}`, rows };
    },
  };
}

export const sseStreams: Scenario = streams("sse", "SSE (JSON-RPC)", rpcStream);
export const grpcStreams: Scenario = streams("grpc", "gRPC", grpcStream);
