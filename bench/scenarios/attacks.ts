/** Rate of a well-behaved client while its server is attacked, compared with its rate while a sink is attacked. */
import { setTimeout as sleep } from "node:timers/promises";
import { grpcSend, rpcSend } from "../calls.js";
import { judge } from "../goals.js";
import type { Attacker, TestServer } from "../harness/child.js";
import { median, ownGenerator } from "../harness/rates.js";
import type { Bench, Row, Scenario } from "../harness/scenario.js";
import { attacks, titleOf } from "../load/attacks.js";
import type { Attacked, RateResult } from "../protocol.js";
import { replyLane } from "./replies.js";

/** The attack begins so many milliseconds before the client is measured, and ends after it. */
const LEAD_MS = 300;

/**
 * Ratio below which an attack is measured again, for longer. The second result counts. The least of many ratios is lower than a single
 * one would be, because other work of the machine disturbs one of them.
 */
const AGAIN_BELOW = 0.9;
const AGAIN_TIMES = 3;

interface Round {
  readonly loaded: RateResult;
  /** CPU time of the server for one of the client's calls, with what the attack cost it, in microseconds. */
  readonly cpuMicros: number;
  readonly attacked: Attacked;
}

interface Arena {
  readonly bench: Bench;
  readonly attacker: Attacker;
  readonly server: TestServer;
}

/** The client's rate while an attack goes to a target. */
async function round(
  { bench, attacker, server }: Arena,
  title: string,
  target: TestServer,
  ms: number,
): Promise<Round> {
  const isGrpc = title.endsWith("gRPC port");
  const port = (isGrpc ? target.at.grpc : target.at.http) ?? 0;
  const attacking = attacker.attack({ title, port, ms: ms + 2 * LEAD_MS });
  await sleep(LEAD_MS);
  const lane = replyLane("client", server, isGrpc ? grpcSend : rpcSend);
  const before = await server.usage();
  const loaded = (await ownGenerator(bench, lane, ms)) as RateResult;
  const cpuMicros = ((await server.usage()).cpuMicros - before.cpuMicros) / loaded.calls;
  return { loaded, cpuMicros, attacked: await attacking };
}

const ratioOf = ({ figures }: Row): number => figures["x against a sink"] ?? Number.NaN;

const perSecond = ({ loaded }: Round): number => (loaded.calls * 1_000) / loaded.ms;

/** @param times how much longer than others it is measured */
async function measure(arena: Arena, sink: TestServer, title: string, times = 1): Promise<Row> {
  const { quick, seconds } = arena.bench.options;
  const rounds = (quick ? 1 : 5) * times;
  const ms = (seconds * 1_000 * times) / rounds;
  const [quiet, loud]: [Round[], Round[]] = [[], []];
  for (let at = 0; at < rounds; at++) {
    // Every other round backwards, so that none always follows the other.
    for (const isQuiet of at % 2 === 0 ? [true, false] : [false, true]) {
      if (isQuiet) quiet.push(await round(arena, title, sink, ms));
      else loud.push(await round(arena, title, arena.server, ms));
    }
  }
  const ratio = median(loud.map((each, at) => perSecond(each) / perSecond(quiet[at] as Round)));
  const sum = (of: (attacked: Attacked) => number): number => loud.reduce((all, each) => all + of(each.attacked), 0);
  const lasted = sum((attacked) => attacked.ms);
  return {
    name: title,
    figures: {
      "calls/s": median(loud.map(perSecond)),
      "x against a sink": ratio,
      "server us CPU/call": median(loud.map(({ cpuMicros }) => cpuMicros)),
      "x by CPU": median(loud.map(({ cpuMicros }, at) => (quiet[at] as Round).cpuMicros / cpuMicros)),
      // CPU time of the server for the attack, as a share of one core. The client's calls get the rest.
      "attack % of a core": median(
        loud.map((each, at) => ((each.cpuMicros - (quiet[at] as Round).cpuMicros) * perSecond(each)) / 10_000),
      ),
      "pieces/s": (1_000 * sum(({ pieces }) => pieces)) / lasted,
      "reopened/s": (1_000 * sum(({ reopened }) => reopened)) / lasted,
      "attacker % CPU": (100 * sum(({ cpuMs }) => cpuMs)) / lasted,
    },
  };
}

export const attacked: Scenario = {
  name: "attacks",
  async run(bench) {
    const server = await bench.start("parley", "message");
    const sink = await bench.start("sink");
    const attacker = await bench.attacker();
    for (const send of [rpcSend, grpcSend]) {
      await ownGenerator(bench, replyLane("client", server, send), bench.options.quick ? 200 : 2_000);
    }
    const rows: Row[] = [];
    const arena = { bench, attacker, server };
    const chosen = bench.options.quick ? attacks.filter((_, at) => at % 6 === 0) : attacks;
    for (const attack of chosen) rows.push(await measure(arena, sink, titleOf(attack)));
    for (const [at, row] of rows.entries()) {
      if (bench.options.quick || ratioOf(row) >= AGAIN_BELOW) continue;
      rows[at] = { ...(await measure(arena, sink, row.name, AGAIN_TIMES)), note: "measured again" };
    }
    const ratios = rows.map(ratioOf);
    const worst = ratios.indexOf(Math.min(...ratios));
    const byCpu = rows[worst]?.figures["x by CPU"] ?? Number.NaN;
    return {
      title: "A client's message replies while the server is attacked, beside the same while a sink is",
      rows: rows.map((row, at) =>
        at === worst ? { ...row, targets: [{ ...judge("attackedRate", ratios[at] ?? 0), byCpu }] } : row,
      ),
    };
  },
};
