/**
 * What the gRPC binding costs beside a bare grpc-js handler that answers the same messages.
 *
 *     node --import tsx bench/grpc.ts
 *
 * Both servers run in this process, on ports of their own, and are called in turn by a client in a second process,
 * 50 unary calls at a time, so that a machine that is slow for a moment is slow for both. Takes about 15 seconds.
 * Besides calls a second it shows the CPU time that this process spends on a call: with few cores the client takes
 * some of the rate, and none of the CPU time.
 */
import { type ChildProcess, fork } from "node:child_process";
import { connect } from "node:http2";
import { create, type Message, toBinary } from "@bufbuild/protobuf";
import { Server, ServerCredentials, type ServiceDefinition, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { A2AService, Role, SendMessageRequestSchema, SendMessageResponseSchema } from "../gen/lf/a2a/v1/a2a_pb.js";
import { ByteBudget } from "../src/binding/byte-budget.js";
import { createGrpcBinding } from "../src/binding/grpc/binding.js";
import { grpcServiceDefinition } from "../src/binding/grpc/definition.js";
import { createGrpcServer } from "../src/binding/grpc/server.js";
import { defaultLimits } from "../src/core/limits.js";
import { silentLogger } from "../src/core/log.js";

const CONCURRENCY = 50;
const ROUND_MS = 1_500;
const ROUNDS = 5;

const method = A2AService.method.sendMessage;
const path = `/${A2AService.typeName}/${method.name}`;
const request = create(SendMessageRequestSchema, {
  message: { messageId: "m-1", role: Role.USER, parts: [{ content: { case: "text", value: "What is the weather?" } }] },
});
const answer: Message = create(SendMessageResponseSchema, {
  payload: {
    case: "message",
    value: {
      messageId: "m-2",
      contextId: "c-1",
      role: Role.AGENT,
      parts: [{ content: { case: "text", value: "It rains, and will go on raining until the evening." } }],
    },
  },
});

interface Round {
  readonly rate: number;
  readonly cpuMicros: number;
}

/** Calls one port for a while and tells how many calls were answered. */
async function client(port: number, ms: number): Promise<number> {
  const session = connect(`http://127.0.0.1:${port}`);
  const body = toBinary(SendMessageRequestSchema, request);
  const frame = Buffer.alloc(5 + body.length);
  frame.writeUInt32BE(body.length, 1);
  frame.set(body, 5);
  const headers = {
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    "a2a-version": "1.0",
  };
  const until = Date.now() + ms;
  let calls = 0;
  const one = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const stream = session.request(headers);
      stream.on("trailers", (trailers) => {
        if (String(trailers["grpc-status"]) !== "0") reject(new Error(`status ${trailers["grpc-status"]}`));
      });
      stream.on("error", reject);
      stream.on("close", resolve);
      stream.resume();
      stream.end(frame);
    });
  const caller = async (): Promise<void> => {
    for (; Date.now() < until; calls++) await one();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, caller));
  session.close();
  return calls;
}

async function round(child: ChildProcess, port: number, ms: number): Promise<Round> {
  const before = process.cpuUsage();
  const began = performance.now();
  const calls = await new Promise<number>((resolve) => {
    child.once("message", (count) => resolve(Number(count)));
    child.send({ port, ms });
  });
  const cpu = process.cpuUsage(before);
  return { rate: (calls * 1000) / (performance.now() - began), cpuMicros: (cpu.user + cpu.system) / calls };
}

function bare(): Promise<number> {
  const definition: ServiceDefinition = grpcServiceDefinition(A2AService);
  const implementation: UntypedServiceImplementation = {
    [method.name]: (_: unknown, callback: (error: null, message: Message) => void) => callback(null, answer),
  };
  const server = new Server();
  server.addService(definition, implementation);
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, port: number): void => (error === null ? resolve(port) : reject(error));
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), done);
  });
}

function bound(): Promise<number> {
  const shared = { service: A2AService, limits: defaultLimits, logger: silentLogger };
  const binding = createGrpcBinding({ ...shared, invoke: async () => answer });
  const budget = new ByteBudget(defaultLimits.maxArrivingBytes);
  return createGrpcServer({ ...shared, binding, budget, host: "127.0.0.1", port: 0 }).listen();
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

async function main(): Promise<void> {
  const ports = { bare: await bare(), binding: await bound() };
  const child = fork(import.meta.filename, ["client"], { execArgv: ["--import", "tsx"] });
  const rounds: Record<keyof typeof ports, Round[]> = { bare: [], binding: [] };
  for (const port of Object.values(ports)) await round(child, port, 1_000);
  for (let i = 0; i < ROUNDS; i++) {
    for (const name of ["bare", "binding"] as const) rounds[name].push(await round(child, ports[name], ROUND_MS));
  }
  child.disconnect();
  const rate = { bare: median(rounds.bare.map((r) => r.rate)), binding: median(rounds.binding.map((r) => r.rate)) };
  const cpu = {
    bare: median(rounds.bare.map((r) => r.cpuMicros)),
    binding: median(rounds.binding.map((r) => r.cpuMicros)),
  };
  for (const name of ["bare", "binding"] as const) {
    console.log(
      `${name.padEnd(8)} ${rate[name].toFixed(0).padStart(7)} calls/s  ${cpu[name].toFixed(1).padStart(6)} us CPU per call`,
    );
  }
  console.log(
    `ratio    ${(rate.binding / rate.bare).toFixed(3).padStart(7)}          ${(cpu.bare / cpu.binding).toFixed(3).padStart(6)}`,
  );
  process.exit(0);
}

if (process.argv[2] === "client") {
  process.on("message", async ({ port, ms }: { port: number; ms: number }) => process.send?.(await client(port, ms)));
} else {
  await main();
}
