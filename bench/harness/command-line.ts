import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Served } from "../protocol.js";
import { ended, keepTrack, type MeasuredServer } from "./child.js";

const DIST = join(import.meta.dirname, "..", "..", "dist");

/** More than the greeting has. */
const GREETING_CHARACTERS = 4_096;

/** Usage of processes, as Linux counts it. */
export interface ProcessUsage {
  /** CPU time of all threads since they began, in microseconds. */
  readonly cpuMicros: number;
  /** Bytes of memory that are in RAM, of files and shared libraries too. */
  readonly rss: number;
}

/** The built command line as `npm start` runs it, without flags of Node.js and without the questions of the bench. */
export class CommandLine implements MeasuredServer {
  readonly at: Served;
  readonly #process: ReturnType<typeof spawn>;

  private constructor(process: ReturnType<typeof spawn>, at: Served) {
    this.#process = process;
    this.at = at;
  }

  /**
   * Starts the server of the example agent, its tasks in a file or in `memory`; resolves when it says where it listens, and
   * when so many workers serve.
   */
  static async start(store: string, workers = 1): Promise<CommandLine> {
    const program = [join(DIST, "src", "cli", "main.js"), "serve", join(DIST, "examples", "probe", "agent.js")];
    const flags = ["--port", "0", "--grpc-port", "0", "--store", store, "--workers", `${workers}`];
    const child = keepTrack(spawn(process.execPath, [...program, ...flags], { stdio: ["ignore", "pipe", "pipe"] }));
    let [stdout, stderr] = ["", ""];
    const at = await new Promise<Served>((resolve, reject) => {
      const look = (): void => {
        if (stderr.split("the server is ready").length <= workers) return;
        const [, http] = /^ *HTTP +http:\/\/[^:]+:(\d+)/m.exec(stdout) ?? [];
        const [, grpc] = /^ *gRPC +[^:]+:(\d+)/m.exec(stdout) ?? [];
        if (http === undefined || grpc === undefined) return;
        resolve({ http: Number(http), grpc: Number(grpc), rpcPath: "/", restPath: "" });
      };
      child.stderr?.on("data", (text) => {
        stderr += String(text);
        look();
      });
      child.stdout?.on("data", (text) => {
        // Log lines come after it, and are not kept.
        if (stdout.length < GREETING_CHARACTERS) stdout += String(text);
        look();
      });
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`the command line ended by itself: ${stderr}`)));
    });
    return new CommandLine(child, at);
  }

  /** Usage of its processes since their start. */
  async usage(): Promise<ProcessUsage> {
    const { pid } = this.#process;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").match(/\d+/g) ?? [];
    const all = [`${pid}`, ...children].map(usageOf);
    return {
      cpuMicros: all.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0),
      rss: all.reduce((sum, { rss }) => sum + rss, 0),
    };
  }

  /** Ends it in order. */
  async end(): Promise<void> {
    this.#process.kill("SIGTERM");
    await ended(this.#process);
  }
}

function usageOf(pid: string): ProcessUsage {
  const folder = `/proc/${pid}`;
  const times = readdirSync(`${folder}/task`).map((thread) =>
    Number(readFileSync(`${folder}/task/${thread}/schedstat`, "latin1").split(" ", 1)[0]),
  );
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`${folder}/status`, "latin1")) ?? [];
  return { cpuMicros: times.reduce((sum, time) => sum + time, 0) / 1_000, rss: Number(kib) * 1024 };
}
