import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { CallsQuestion } from "../load/caller.js";
import type {
  Answered,
  Attacked,
  AttackQuestion,
  Job,
  JobResults,
  Profile,
  Ready,
  Served,
  ServerQuestion,
  Stopped,
  Usage,
  WireCall,
} from "../protocol.js";

/** Where the compiler puts the bench's own programs. */
const BUILT = join(import.meta.dirname, "..", "dist", "bench");

/** A child must be ready, have an answer, and be gone when it is let go, within these times; else it is ended. */
const START_MS = 60_000;
const ANSWER_MS = 300_000;
const END_MS = 3_000;

const running = new Set<ChildProcess>();

/** Ends whatever still runs, by its id; for the moment when this process ends in a hurry. */
export function endAll(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** Has a process ended with the bench, if not before. */
export function keepTrack<P extends ChildProcess>(process: P): P {
  running.add(process);
  process.once("exit", () => running.delete(process));
  return process;
}

/** Waits until a process that is to end is gone; it is ended when that takes too long. */
export async function ended(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const timer = setTimeout(() => process.kill("SIGKILL"), END_MS);
  await once(process, "exit");
  clearTimeout(timer);
}

/** A process of compiled code, run by plain node, that answers questions. */
export class Child<Q> {
  readonly #process: ChildProcess;
  readonly #pending = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  readonly #gone: Promise<void>;
  #next = 0;
  #end: Error | undefined;

  private constructor(program: string, args: readonly string[]) {
    this.#process = fork(join(BUILT, program), [...args], {
      execArgv: ["--expose-gc"],
      env: { ...process.env, NODE_ENV: "production" },
    });
    running.add(this.#process);
    this.#gone = new Promise((resolve) => {
      this.#process.once("exit", (code, signal) => {
        running.delete(this.#process);
        this.#fail(new Error(`${program} ended by itself (${signal ?? code})`));
        resolve();
      });
    });
    this.#process.on("error", (error) => this.#fail(error));
  }

  /** Starts a program and gives what it said when it was ready. */
  static async start<Q, R>(program: string, args: readonly string[]): Promise<{ child: Child<Q>; ready: R }> {
    const child = new Child<Q>(program, args);
    const ready = await child.#ready();
    return { child, ready: ready as R };
  }

  ask(question: Q): Promise<unknown> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const id = this.#next++;
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), ANSWER_MS);
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#process.send({ id, question });
    }).finally(() => clearTimeout(timer));
  }

  /** Lets the process go and waits until it is gone. */
  async end(): Promise<void> {
    if (this.#process.connected) this.#process.disconnect();
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), END_MS);
    await this.#gone;
    clearTimeout(timer);
  }

  #ready(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#pending.set(-1, { resolve, reject });
      const timer = setTimeout(() => this.#process.kill("SIGKILL"), START_MS);
      this.#process.on("message", (message: Ready | Answered) => {
        clearTimeout(timer);
        if ("ready" in message) this.#settle({ id: -1, result: message.ready });
        else this.#settle(message);
      });
    });
  }

  #settle({ id, result, error }: Answered): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (error === undefined) pending?.resolve(result);
    else pending?.reject(new Error(error));
  }

  #fail(error: Error): void {
    this.#end ??= error;
    for (const pending of this.#pending.values()) pending.reject(this.#end);
    this.#pending.clear();
  }
}

/** A server whose calls are counted beside its CPU time. */
export interface MeasuredServer {
  readonly at: Served;
  usage(): Promise<Pick<Usage, "cpuMicros">>;
  end(): Promise<void>;
}

/** A server under test. */
export class TestServer implements MeasuredServer {
  readonly #child: Child<ServerQuestion>;
  readonly at: Served;

  private constructor(child: Child<ServerQuestion>, at: Served) {
    this.#child = child;
    this.at = at;
  }

  static async start(program: string, args: readonly string[] = []): Promise<TestServer> {
    const { child, ready } = await Child.start<ServerQuestion, Served>(`servers/${program}.js`, args);
    return new TestServer(child, ready);
  }

  /** Usage of the process since its start. `settle` collects garbage first, until its memory no longer changes. */
  async usage(settle = false): Promise<Usage> {
    return (await this.#child.ask({ kind: "usage", settle })) as Usage;
  }

  /** Begins to record where its main thread's time goes. */
  async beginProfile(): Promise<void> {
    await this.#child.ask({ kind: "profile", phase: "begin" });
  }

  async endProfile(): Promise<Profile> {
    return (await this.#child.ask({ kind: "profile", phase: "end" })) as Profile;
  }

  /** Begins to look how long its event loop stands still. */
  async beginStops(): Promise<void> {
    await this.#child.ask({ kind: "stops", phase: "begin" });
  }

  /** Returns the stops of its event loop since `beginStops()`. */
  async endStops(): Promise<Stopped> {
    return (await this.#child.ask({ kind: "stops", phase: "end" })) as Stopped;
  }

  /** Lets its waiting agents go on. */
  async go(): Promise<void> {
    await this.#child.ask({ kind: "go" });
  }

  end(): Promise<void> {
    return this.#child.end();
  }
}

/** A process that attacks servers. */
export class Attacker {
  readonly #child: Child<AttackQuestion>;

  private constructor(child: Child<AttackQuestion>) {
    this.#child = child;
  }

  static async start(): Promise<Attacker> {
    const { child } = await Child.start<AttackQuestion, unknown>("load/attacker.js", []);
    return new Attacker(child);
  }

  async attack(question: AttackQuestion): Promise<Attacked> {
    return (await this.#child.ask(question)) as Attacked;
  }

  end(): Promise<void> {
    return this.#child.end();
  }
}

/** A client that is measured. */
export class Caller {
  readonly #child: Child<CallsQuestion>;

  private constructor(child: Child<CallsQuestion>) {
    this.#child = child;
  }

  static async start(args: readonly string[]): Promise<Caller> {
    const { child } = await Child.start<CallsQuestion, unknown>("load/caller.js", args);
    return new Caller(child);
  }

  async calls(question: CallsQuestion): Promise<{ calls: number; ms: number; cpuMs: number }> {
    return (await this.#child.ask(question)) as { calls: number; ms: number; cpuMs: number };
  }

  end(): Promise<void> {
    return this.#child.end();
  }
}

/** The load generator. */
export class Load {
  readonly #child: Child<Job>;

  private constructor(child: Child<Job>) {
    this.#child = child;
  }

  static async start(): Promise<Load> {
    const { child } = await Child.start<Job, unknown>("load/main.js", []);
    return new Load(child);
  }

  /** Sends one call and gives the body of its answer, which had what was expected. */
  async answer(call: WireCall): Promise<Buffer> {
    return Buffer.from((await this.run({ kind: "answer", call })).body, "base64");
  }

  async run<K extends Job["kind"]>(job: Job & { kind: K }): Promise<JobResults[K]> {
    return (await this.#child.ask(job)) as JobResults[K];
  }

  end(): Promise<void> {
    return this.#child.end();
  }
}
