// Calls to a server of one process and to one of two workers: `npx tsx bench/workers.ts [seconds]`, after `npm run build`.
// Replies are not stored; tasks are stored and synced, in a SQLite file. The load is made by this process, on the same
// cores. What counts is therefore the CPU time of the servers for each call: it tells how many calls a machine serves
// whose cores are all theirs.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SECONDS = Number(process.argv[2] ?? 5);
const CALLERS = 32;
/** Clock ticks of /proc, in microseconds. */
const TICK = 10_000;

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

let messages = 0;

interface Measured {
  readonly rate: number;
  /** CPU time of all processes of the server for each call, in microseconds. */
  readonly cpu: number;
  /** Cores that they used. */
  readonly cores: number;
  /** Cores that the load used. */
  readonly load: number;
}

console.log(`${CALLERS} connections, ${SECONDS} s each`);
for (const [name, text] of [
  ["replies", "which process"],
  ["tasks", "echo hi"],
] as const) {
  const one = await measure(1, text);
  const two = await measure(2, text);
  show(`${name}, one process`, one);
  show(`${name}, two workers`, two);
  console.log(
    `${name}: rate ${(two.rate / one.rate).toFixed(2)}, capacity of two cores ${capacity(one, two).toFixed(2)}`,
  );
}

/** Calls that two workers serve with two cores, divided by those of one process with the cores that it can use. */
function capacity(one: Measured, two: Measured): number {
  return 2 / two.cpu / (Math.min(2, Math.max(1, one.cores)) / one.cpu);
}

function show(name: string, { rate, cpu, cores, load }: Measured): void {
  const used = `${cores.toFixed(2)} cores and ${load.toFixed(2)} of the load`;
  console.log(
    `${name.padEnd(22)} ${rate.toFixed(0).padStart(6)} calls/s, ${cpu.toFixed(0).padStart(4)} us each, ${used}`,
  );
}

async function measure(workers: number, text: string): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
  const flags = ["--port", "0", "--grpc-port", "off", "--store", join(folder, "tasks.db"), "--log-level", "warn"];
  const words = [at("dist/src/cli/main.js"), "serve", at("test/fixtures/agents/process.mjs"), ...flags];
  const server = spawn(process.execPath, [...words, "--workers", `${workers}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const url = await addressOf(server);
    // One more process writes the file.
    while (processesOf(server).length < (workers === 1 ? 1 : workers + 2)) await call(new Agent(), url, text);
    await load(url, text, 6);
    const before = cpuOf(server);
    const own = process.cpuUsage();
    const begin = performance.now();
    const calls = await load(url, text, SECONDS);
    const seconds = (performance.now() - begin) / 1_000;
    const { user, system } = process.cpuUsage(own);
    const cpu = cpuOf(server) - before;
    return {
      rate: calls / seconds,
      cpu: cpu / calls,
      cores: cpu / 1e6 / seconds,
      load: (user + system) / 1e6 / seconds,
    };
  } finally {
    server.kill();
    await new Promise((resolve) => server.once("exit", resolve));
    rmSync(folder, { recursive: true });
  }
}

async function load(url: string, text: string, seconds: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
  const end = performance.now() + seconds * 1_000;
  let calls = 0;
  const callers = Array.from({ length: CALLERS }, async () => {
    for (; performance.now() < end; calls++) await call(agent, url, text);
  });
  await Promise.all(callers);
  agent.destroy();
  return calls;
}

function call(agent: Agent, url: string, text: string): Promise<void> {
  const message = { messageId: `${messages++}`, role: "ROLE_USER", parts: [{ text }] };
  const headers = { "content-type": "application/json", "a2a-version": "1.0" };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/message:send`, { method: "POST", agent, headers }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`The status is ${answer.statusCode}.`));
      answer.resume().on("end", resolve);
    });
    sent.on("error", reject).end(JSON.stringify({ message }));
  });
}

function addressOf(server: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let greeting = "";
    server.stdout?.on("data", (text) => {
      greeting += String(text);
      const url = /^\s*HTTP\s+(http\S+)/m.exec(greeting)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
}

/** The process of the server and its workers. */
function processesOf({ pid = 0 }: ChildProcess): number[] {
  const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return [pid, ...ids.map(Number).filter((id) => Number(statOf(id)[1]) === pid)];
}

/** CPU time of a server, in microseconds. */
function cpuOf(server: ChildProcess): number {
  return processesOf(server).reduce((sum, id) => sum + (Number(statOf(id)[11]) + Number(statOf(id)[12])) * TICK, 0);
}

/** Fields of a process in /proc, from its state on. */
function statOf(id: number): string[] {
  try {
    return readFileSync(`/proc/${id}/stat`, "latin1").split(") ")[1]?.split(" ") ?? [];
  } catch {
    return [];
  }
}
