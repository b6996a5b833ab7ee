/** Message replies through Parley's client, beside bare clients and the client of the peer, all to the same server. */

import { grpcSend, restSend, rpcSend } from "../calls.js";
import type { GoalName } from "../goals.js";
import type { Caller } from "../harness/child.js";
import { type Generator, type Lane, Rates } from "../harness/rates.js";
import { type Bench, CALLERS, type Row, type Scenario } from "../harness/scenario.js";
import { replyLane } from "./replies.js";

/** A binding, how the server is warmed up, and the goals that are judged by it. */
interface Wire {
  readonly binding: string;
  readonly send: Parameters<typeof replyLane>[2];
  readonly bare: string;
  readonly bareGoal: GoalName;
  readonly peerGoal: GoalName;
  /** Adds a client that uses node:http2 alone. */
  readonly isHttp2?: boolean;
}

const wires: readonly Wire[] = [
  {
    binding: "GRPC",
    send: grpcSend,
    bare: "Connect",
    bareGoal: "clientGrpc",
    peerGoal: "clientGrpcPeer",
    isHttp2: true,
  },
  { binding: "JSONRPC", send: rpcSend, bare: "undici", bareGoal: "clientJsonRpc", peerGoal: "clientJsonRpcPeer" },
  { binding: "HTTP+JSON", send: restSend, bare: "undici", bareGoal: "clientRest", peerGoal: "clientRestPeer" },
];

export const clients: Scenario = {
  name: "clients",
  async run(bench) {
    const rows: Row[] = [];
    for (const wire of wires) rows.push(...(await rowsOf(bench, wire)));
    return { title: "Message replies through clients (the same server, 50 calls under way)", rows };
  },
};

async function rowsOf(
  bench: Bench,
  { binding, send, bare, bareGoal, peerGoal, isHttp2 = false }: Wire,
): Promise<Row[]> {
  const server = await bench.start("parley", "message");
  const callers = new Map<string, Caller>();
  const lanes: Lane[] = [];
  const nameOf = (kind: string): string =>
    ({ bare: `bare ${bare}, ${binding}`, sdk: `@a2a-js/sdk, ${binding}`, parley: `Parley, ${binding}` })[kind] ??
    `bare node:http2, ${binding}`;
  for (const kind of ["bare", "sdk", "parley", ...(isHttp2 ? ["http2"] : [])]) {
    const { http, grpc } = server.at;
    const caller = await bench.caller(kind, binding, `http://127.0.0.1:${http}`, String(grpc));
    await caller.calls({ callers: CALLERS, ms: bench.options.quick ? 200 : 2_000 });
    callers.set(nameOf(kind), caller);
    lanes.push(replyLane(nameOf(kind), server, send));
  }
  const micros = new Map<string, number>();
  const generate: Generator = async (_, { name }, ms) => {
    const loaded = await (callers.get(name) as Caller).calls({ callers: CALLERS, ms });
    micros.set(name, Math.min(micros.get(name) ?? Number.POSITIVE_INFINITY, (loaded.cpuMs * 1_000) / loaded.calls));
    return loaded;
  };
  const rates = await Rates.measure(bench, lanes, generate);
  await Promise.all([...callers.values(), server].map((child) => child.end()));
  const rowOf = (kind: string, of: string, goal?: GoalName): Row => {
    const name = nameOf(kind);
    const row = rates.row(name, nameOf(of), {
      column: of === "bare" ? "bare" : "SDK",
      ...(goal === undefined ? {} : { goal }),
    });
    return { ...row, figures: { ...row.figures, "client us CPU/call": micros.get(name) ?? Number.NaN } };
  };
  return [
    rowOf("bare", "bare"),
    rowOf("sdk", "bare"),
    ...(isHttp2 ? [rowOf("http2", "sdk")] : []),
    rowOf("parley", "bare", bareGoal),
    rowOf("parley", "sdk", peerGoal),
  ];
}
