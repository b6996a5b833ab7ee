import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../support/writer-thread.js";
import { http1 } from "./raw-http.js";
import { messageOf, until } from "./serve.js";

export const MIB: number = 1024 * 1024;

export interface Memory {
  /** Bytes in the heap of JavaScript and outside of it, after a collection. */
  readonly held: number;
}

/** A server in a process of its own, with a heap of so many MiB. */
export interface Child {
  readonly port: number;
  readonly grpcPort: number;
  readonly adminPort: number;
  memory(): Promise<Memory>;
  /** True if the process has ended, which no test expects. */
  readonly ended: () => boolean;
  end(): Promise<void>;
}

export async function start(heapMib: number, limits: object = {}, constants: object = {}): Promise<Child> {
  const folder = mkdtempSync(join(tmpdir(), "parley-outgoing-"));
  const file = join(folder, "tasks.db");
  const script = fileURLToPath(bundle("outgoing-server.js"));
  const execArgv = ["--expose-gc", `--max-old-space-size=${heapMib}`];
  const child = fork(script, [file, JSON.stringify(limits), JSON.stringify(constants)], {
    execArgv,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  let ended = false;
  child.once("exit", () => (ended = true));
  const end = async (): Promise<void> => {
    if (ended) return;
    child.kill("SIGKILL");
    await once(child, "exit");
    rmSync(folder, { recursive: true, force: true });
  };
  const gone = once(child, "exit").then(() => Promise.reject(new Error("the server has ended")));
  gone.catch(() => {});
  const answer = async <T>(): Promise<T> => {
    return (await Promise.race([once(child, "message"), gone]))[0] as T;
  };
  const ports = await answer<{ port: number; grpcPort: number; adminPort: number }>();
  return {
    ...ports,
    ended: () => ended,
    end,
    memory: () => {
      child.send("memory");
      return answer<Memory>();
    },
  };
}

const json = { "content-type": "application/json" };

/** Makes a task and gives its id. */
export async function task({ port }: Child, text: string): Promise<string> {
  const body = JSON.stringify({ ...messageOf(text), configuration: { historyLength: 0, returnImmediately: true } });
  const answer = await http1(port)({ path: "/message:send", headers: json, body });
  const { id } = (JSON.parse(answer.body.toString()) as { task: { id: string } }).task;
  const state = async () => {
    const path = `/tasks?pageSize=100`;
    const list = await http1(port)({ method: "GET", path });
    const { tasks } = JSON.parse(list.body.toString()) as { tasks: { id: string; status: { state: string } }[] };
    return tasks.find((each) => each.id === id)?.status.state;
  };
  await until(async () => /COMPLETED|INPUT/.test((await state()) ?? ""));
  return id;
}

/** Polls until the server's memory stays as it is. */
export async function settled(child: Child): Promise<Memory> {
  let last = 0;
  let memory = await child.memory();
  await until(async () => {
    last = memory.held;
    await new Promise((resolve) => setTimeout(resolve, 250));
    memory = await child.memory();
    return Math.abs(memory.held - last) < MIB;
  });
  return memory;
}
