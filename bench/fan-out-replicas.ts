// Time from an event that an agent yields on one server to a subscriber on another with the same PostgreSQL database, beside
// a subscriber on the agent's own server: by NOTIFY, by NATS and by polling alone. `npx tsx bench/fan-out-replicas.ts` starts
// a database of its own, and needs its programs (Debian: postgresql); `--nats PROGRAM` names that of nats-server.

import { type ChildProcess, fork, spawn } from "node:child_process";
import { get, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Agent, artifact, createServer, working } from "../src/index.js";
import { localSignals } from "../src/signals/hub.js";
import { natsSignals } from "../src/signals/nats/index.js";
import { postgresStore } from "../src/store/postgres/index.js";
import { PostgresServer, programs } from "../test/store/postgres/server.js";

const NATS_PORT = 14_223;
const [mode, url = "", carrier = ""] = process.argv.slice(2);
if (mode === "replica") await serve(url, carrier);
else await measureAll();

/** A server whose agent yields its present time at a steady pace. */
async function serve(url: string, carrier: string): Promise<void> {
  const agent: Agent = {
    card: { name: "Clock", description: "Tells the time.", version: "1.0.0", skills: [] },
    async *execute({ text }) {
      const [count = 0, ms = 0] = text.split(" ").map(Number);
      yield working();
      await sleep(500 + Math.random() * ms);
      for (let index = 0; index < count; index++) {
        yield artifact({ id: "t", text: `${process.hrtime.bigint()}`, append: index > 0 });
        await sleep(ms);
      }
    },
  };
  // Without another member, the text reaches no listener.
  const signals = carrier === "NATS" ? await natsSignals(`nats://127.0.0.1:${NATS_PORT}`) : localSignals();
  const store = await postgresStore({ url, require: "local" });
  const server = await createServer({
    ...{ agent, store, port: 0, grpcPort: false },
    ...(carrier !== "NOTIFY" && { signals }),
  });
  process.on("message", () => process.send?.(process.cpuUsage()));
  process.on("disconnect", () => process.exit());
  process.send?.(server.url);
}

async function measureAll(): Promise<void> {
  const { values } = parseArgs({ options: { nats: { type: "string" }, seconds: { type: "string", default: "20" } } });
  const bin = programs();
  if (bin === undefined) throw new Error("PostgreSQL is not installed (Debian: apt-get install postgresql)");
  const server = new PostgresServer(bin, { max_connections: "100" });
  const broker = values.nats && spawn(values.nats, ["-a", "127.0.0.1", "-p", `${NATS_PORT}`], { stdio: "ignore" });
  const seconds = Number(values.seconds);
  try {
    console.log("milliseconds from yield on A to a subscriber, and CPU time of A and B for each event");
    for (const name of ["NOTIFY", ...(broker ? ["NATS"] : []), "polling"]) {
      for (const [tasks, ms] of [
        [1, 50],
        [20, 200],
        [200, 1_000],
      ]) {
        await measure(server.url, name, { tasks: Number(tasks), ms: Number(ms), seconds });
      }
    }
  } finally {
    if (broker) broker.kill("SIGKILL");
    server.stop();
  }
}

interface Load {
  readonly tasks: number;
  /** Time between two events of a task. */
  readonly ms: number;
  readonly seconds: number;
}

async function measure(url: string, name: string, { tasks, ms, seconds }: Load): Promise<void> {
  const replicas = [launch(url, name), launch(url, name)];
  const [a = "", b = ""] = await Promise.all(replicas.map((child) => answerOf<string>(child)));
  await sleep(500);
  const count = Math.round((seconds * 1_000) / ms);
  const [here, there] = [new Map<string, number>(), new Map<string, number>()];
  const begun = await Promise.all(replicas.map(cpuOf));
  await Promise.all(
    Array.from({ length: tasks }, async () => {
      const id = await begin(a, `${count} ${ms}`);
      const seen = await Promise.all([subscribe(a, id, here), subscribe(b, id, there)]);
      if (seen.some((events) => events !== count)) throw new Error(`${seen.join()} of ${count} events were seen.`);
    }),
  );
  const ended = await Promise.all(replicas.map(cpuOf));
  const cpu = ended.map((value, index) => (value - (begun[index] ?? 0)) / (tasks * count));
  for (const child of replicas) child.disconnect();
  const load = `${tasks} tasks, ${Math.round((tasks * 1_000) / ms)} events/s`;
  const costs = cpu.map((each) => `${each.toFixed(0)} µs`).join(" and ");
  const later = [...there].flatMap(([time, age]) => age - (here.get(time) ?? Number.NaN)).filter(Number.isFinite);
  const ages = `on A ${shown([...here.values()])}  on B ${shown([...there.values()])}  B after A ${shown(later)}`;
  console.log(`${name.padEnd(8)} ${load.padEnd(24)} ${ages}  ${costs}`);
}

function launch(url: string, name: string): ChildProcess {
  return fork(process.argv[1] ?? "", ["replica", url, name], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
}

function answerOf<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once("message", (message) => resolve(message as T));
    child.once("exit", (code) => reject(new Error(`A server ended with ${code}.`)));
  });
}

async function cpuOf(child: ChildProcess): Promise<number> {
  const answer = answerOf<NodeJS.CpuUsage>(child);
  child.send("cpu");
  const { user, system } = await answer;
  return user + system;
}

function begin(url: string, text: string): Promise<string> {
  const message = { messageId: `${Math.random()}`, role: "ROLE_USER", parts: [{ text }] };
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const call = request(`${url}/message:send`, { method: "POST", headers }, (answer) => {
      let body = "";
      answer.on("data", (piece) => (body += piece));
      answer.on("end", () => resolve(JSON.parse(body).task.id));
    });
    call.on("error", reject);
    call.end(JSON.stringify({ message, configuration: { returnImmediately: true } }));
  });
}

/** Follows a task to its end, and notes how old each event is when it arrives. Returns their number, with those before. */
function subscribe(url: string, id: string, ages: Map<string, number>): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { headers: { "a2a-version": "1.0", accept: "text/event-stream" } };
    const call = get(`${url}/tasks/${id}:subscribe`, options, (stream) => {
      let events = 0;
      let rest = "";
      stream.setEncoding("utf8").on("data", (piece: string) => {
        const now = process.hrtime.bigint();
        const lines = (rest + piece).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          const times = [...line.matchAll(/"text":"(\d{8,})"/g)];
          events += times.length;
          if (!line.includes('"artifactUpdate"')) continue;
          for (const [, time = ""] of times) ages.set(time, Number(now - BigInt(time)) / 1e6);
        }
      });
      stream.on("end", () => resolve(events));
    });
    call.on("error", reject);
  });
}

function shown(ages: number[]): string {
  ages.sort((one, other) => one - other);
  const at = (share: number): string => (ages[Math.floor(ages.length * share)] ?? Number.NaN).toFixed(1);
  return `p50 ${at(0.5)} p99 ${at(0.99)} (${ages.length})`;
}
