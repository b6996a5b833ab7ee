import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SendMessageRequestSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { main } from "../cli/cli.js";
import { build } from "../e2e/support/build.js";
import { Home, type ServerProcess } from "../e2e/support/server-process.js";
import { apt, hasApt, run, succeed } from "./support/tool.js";

build();

/** The agent waits, so that other programs on the machine matter less. */
const TEXT = "wait 50";
const CALLERS = 10;
const SECONDS = 2;
const FEWEST_ROUNDS = 3;
const MOST_ROUNDS = 15;

const home = new Home();
const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
let server: ServerProcess;
let [http, grpc] = ["", ""];

beforeAll(async () => {
  await needed("wrk", "wrk");
  await needed("h2load", "nghttp2-client");
  server = await home.start();
  http = server.url;
  grpc = `127.0.0.1:${server.grpcPort}`;
  // The JIT compiler of the server's runtime needs some seconds.
  await Promise.all(["jsonrpc", "rest", "grpc"].map((transport) => bench(transport, 3)));
}, 600_000);

afterAll(async () => {
  await home.leave();
  rmSync(folder, { recursive: true });
});

async function needed(program: string, name: string): Promise<void> {
  if ((await run("which", [program])).code === 0) return;
  if (!hasApt()) throw new Error(`This needs ${program}, from Debian's package ${name}.`);
  await apt(name);
}

/**
 * Calls per second by `parley bench`. It reads no card, so its sends have no idempotency key and cost as much as those
 * of the other tools.
 */
async function bench(transport: string, seconds = SECONDS): Promise<number> {
  const endpoint = transport === "grpc" ? grpc : http;
  const options = ["--callers", `${CALLERS}`, "--duration", `${seconds}s`, "--warmup", "1500ms", "-o", "json"];
  const printed = await succeed(process.execPath, [
    ...[main, "bench", "-e", endpoint, "--transport", transport, ...options, TEXT],
  ]);
  const { perSecond, failed } = JSON.parse(printed) as { perSecond: number; failed: number };
  expect(failed).toBe(0);
  return perSecond;
}

const message = { messageId: "01a21ec2-9a48-7000-a058-5a06a7408d0b", role: "ROLE_USER", parts: [{ text: TEXT }] };
const rpc = { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } };

/** Calls per second by wrk. */
async function wrk(path: string, body: object): Promise<number> {
  const script = join(folder, "wrk.lua");
  const lines = [
    `wrk.method = "POST"`,
    `wrk.body = ${JSON.stringify(JSON.stringify(body))}`,
    `wrk.headers["content-type"] = "application/json"`,
    `wrk.headers["a2a-version"] = "1.0"`,
    "function done(summary)",
    "  local e = summary.errors",
    '  print("calls=" .. summary.requests .. " us=" .. summary.duration)',
    '  print("bad=" .. (e.connect + e.read + e.write + e.status + e.timeout))',
    "end",
  ];
  writeFileSync(script, lines.join("\n"));
  const printed = await succeed("wrk", ["-t1", `-c${CALLERS}`, `-d${SECONDS}s`, "-s", script, `${http}${path}`]);
  expect(numberIn(printed, /bad=(\d+)/)).toBe(0);
  return numberIn(printed, /calls=(\d+)/) / (numberIn(printed, /us=(\d+)/) / 1_000_000);
}

/** Calls per second by h2load, over one connection, which suffices for so few callers. */
async function h2load(): Promise<number> {
  const request = toBinary(SendMessageRequestSchema, fromJson(SendMessageRequestSchema, { message }));
  const file = join(folder, "h2load.bin");
  writeFileSync(file, Buffer.from([0, 0, 0, 0, request.length, ...request]));
  const headers = ["content-type: application/grpc+proto", "te: trailers", "a2a-version: 1.0"];
  const printed = await succeed("h2load", [
    ...["-t1", "-c1", `-m${CALLERS}`, "-D", `${SECONDS}`, "-d", file, ...headers.flatMap((each) => ["-H", each])],
    `http://${grpc}/lf.a2a.v1.A2AService/SendMessage`,
  ]);
  // A failed call has status 200 too, but no message.
  const calls = numberIn(printed, /(\d+) succeeded/);
  expect(numberIn(printed, /\((\d+)\) data/)).toBeGreaterThan(calls * 20);
  return numberIn(printed, /, ([\d.]+) req\/s/);
}

function numberIn(printed: string, pattern: RegExp): number {
  const [, found] = pattern.exec(printed) ?? [];
  if (found === undefined) throw new Error(`not found, ${pattern}: ${printed}`);
  return Number(found);
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

describe("parley bench", { timeout: 600_000 }, () => {
  it.each([
    ["wrk", "JSON-RPC", () => bench("jsonrpc"), () => wrk("/", rpc)],
    ["wrk", "REST", () => bench("rest"), () => wrk("/message:send", { message })],
    ["h2load", "gRPC", () => bench("grpc"), () => h2load()],
  ] as const)("agrees with %s within a tenth on %s", async (_tool, _binding, own, other) => {
    const ratios: number[] = [];
    const isEnough = (): boolean => ratios.length >= FEWEST_ROUNDS && Math.abs(median(ratios) - 1) < 0.1;
    while (!isEnough() && ratios.length < MOST_ROUNDS) {
      // Both run at the same time, so that other load on the machine slows both.
      const [ours, theirs] = await Promise.all([own(), other()]);
      ratios.push(ours / theirs);
    }
    expect(median(ratios), ratios.map((ratio) => ratio.toFixed(2)).join(" ")).toBeGreaterThan(0.9);
    expect(median(ratios)).toBeLessThan(1.1);
  });
});
