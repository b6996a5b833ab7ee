import type { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent, Turn } from "../../src/agent/agent.js";
import { neverCanceled } from "../../src/core/async.js";
import { A2AError } from "../../src/core/error.js";
import { defaultLimits } from "../../src/core/limits.js";
import type { TaskHandle } from "../../src/engine/read/task-handle.js";
import type { TaskStore } from "../../src/store/task-store.js";
import { isTerminal } from "../../src/task/state.js";
import { Bench, scope, tell } from "../engine/support.js";
import type { Choose, Outcome } from "./explore.js";
import { violationsOf } from "./invariants.js";
import { LEASE_MS, type Trouble, World } from "./world.js";

/** Actions of clients on a task, with the possible troubles. */
export interface Scenario {
  readonly name: string;
  readonly troubles: readonly Trouble[];
  readonly agent: (sim: Sim, process: number) => Omit<Agent, "card">;
  /** Actions of clients after the task exists. Each is a step, by default the last one. */
  readonly acts?: (sim: Sim) => void;
  /** True if `acts` create the task. By default a message creates it before schedules deviate. */
  readonly creates?: boolean;
  /** Further actions before schedules deviate. */
  readonly begin?: (sim: Sim) => Promise<unknown>;
}

/** A turn as its agent received it. */
export interface Heard {
  readonly process: number;
  readonly text: string;
  readonly attempt: number;
}

/** Events of a task that a subscriber has seen. */
export interface Seen {
  readonly process: number;
  readonly from: number;
  readonly events: string[];
  isOver: boolean;
}

/** A message of a client, with its outcome. */
export interface Sent {
  readonly process: number;
  readonly text: string;
  taskId?: string;
  /** Names of the artifacts in the answer to the blocking call. */
  answered?: readonly string[];
  state?: TaskState | undefined;
  refused?: string;
}

const BOUNDS = { ms: 20_000, steps: 4_000 };

/** Two engines over one store, with their clients. */
export class Sim {
  readonly world: World;
  readonly benches: readonly Bench[];
  readonly heard: Heard[] = [];
  readonly seen: Seen[] = [];
  readonly sent: Sent[] = [];
  /** Runs of a step's work, with true for those after its result was stored. */
  readonly works: { readonly stored: boolean }[] = [];
  /** Messages whose turns only ask. */
  readonly asks = new Set<string>();
  /** Outcome of the cancel. `early` if the answer came before an end was stored. */
  canceled: "asked" | "done" | "early" | "refused" | undefined;
  /** Id of the task, when a client knows it. */
  taskId = "";
  #pending = 0;

  constructor(scenario: Scenario, plant?: (store: TaskStore) => TaskStore) {
    this.world = new World(scenario.troubles, plant);
    const limits = { ...defaultLimits, cancelGraceMs: 50 };
    const options = { leaseMs: LEASE_MS, limits, now: () => this.world.clock.now };
    this.benches = [0, 1].map((process) => {
      const agent = { recover: "restart" as const, ...scenario.agent(this, process) };
      return this.world.as(process, () => new Bench(agent, options, this.world.storeOf(process)));
    });
  }

  hear(process: number, { text, attempt }: Turn): void {
    this.heard.push({ process, text, attempt });
  }

  /** Makes a client's call. It is a step, by default the last one. */
  act(process: number, name: string, call: (bench: Bench) => Promise<void>): void {
    const bench = this.benches[process];
    if (bench === undefined) return;
    this.#pending++;
    void this.world
      .step(process, name, true)
      .then(() => call(bench))
      .finally(() => this.#pending--);
  }

  /** Sends a message. Records the answer of a call that blocks until the turn ends. */
  async send(process: number, text: string, more: Parameters<Bench["send"]>[1] = {}): Promise<void> {
    const sent: Sent = { process, text };
    this.sent.push(sent);
    try {
      const task = await this.world.as(process, () => this.benches[process]?.send(text, more));
      if (task === undefined) return;
      sent.taskId = task.taskId;
      this.taskId ||= task.taskId;
      void this.#follow(process, task);
      void this.#block(sent, task);
    } catch (error) {
      if (!(error instanceof A2AError)) throw error;
      sent.refused = error.reason;
    }
  }

  async #block(sent: Sent, task: TaskHandle): Promise<void> {
    await task.whenIdle(neverCanceled, 60_000).catch(() => {});
    const { artifacts, status } = task.now().task;
    sent.answered = artifacts.map(({ name }) => name);
    sent.state = status?.state;
  }

  async cancel(process: number): Promise<void> {
    this.canceled = "asked";
    await this.benches[process]?.engine.cancel(scope, this.taskId).then(
      () => (this.canceled = this.ended > 0 ? "done" : "early"),
      (error: unknown) => {
        if (!(error instanceof A2AError)) throw error;
        this.canceled = "refused";
      },
    );
  }

  async follow(process: number): Promise<void> {
    const handle = await this.world.as(process, () => this.benches[process]?.engine.open(scope, this.taskId));
    if (handle !== undefined) void this.#follow(process, handle);
  }

  async #follow(process: number, handle: TaskHandle): Promise<void> {
    const now = handle.now();
    const seen: Seen = { process, from: now.position, events: [], isOver: false };
    this.seen.push(seen);
    for await (const event of handle.events(now, neverCanceled)) seen.events.push(tell(event));
    seen.isOver = true;
  }

  /** Runs one schedule to its end. */
  async run(scenario: Scenario, choose: Choose): Promise<Outcome> {
    const { world } = this;
    const setUp = async (work: Promise<unknown>): Promise<void> => {
      let isDone = false;
      void work.then(() => (isDone = true));
      await world.run(choose, () => isDone, BOUNDS);
    };
    await setUp(world.as(0, () => this.benches[0]?.engine.start() ?? Promise.resolve()));
    // Shifts the second engine's heartbeats against those of the first.
    const half = new Promise((resolve) => world.as(1, () => setTimeout(resolve, LEASE_MS / 6)));
    await setUp(half);
    await setUp(world.as(1, () => this.benches[1]?.engine.start() ?? Promise.resolve()));
    if (scenario.creates !== true) {
      await setUp(this.send(0, "first"));
      await setUp(this.follow(1));
    }
    if (scenario.begin !== undefined) await setUp(scenario.begin(this));
    world.isOpen = true;
    scenario.acts?.(this);
    const steps = await world.run(choose, () => this.#isOver, BOUNDS);
    const violations = await violationsOf(this);
    return { steps, violations };
  }

  /** True if the task has ended for all clients, so that nothing relevant can follow. */
  get #isOver(): boolean {
    const { world } = this;
    if (!world.isIdle || this.ended < 1) return false;
    const waits = this.sent.some((sent) => world.isAlive(sent.process) && sent.refused === undefined && !sent.answered);
    const follows = this.seen.some((seen) => world.isAlive(seen.process) && !seen.isOver);
    const calls = this.#pending > 0 && world.isAlive(0) && world.isAlive(1);
    return !(waits || follows || calls || this.canceled === "asked");
  }

  /** Number of ended tasks, counted by appends of a final state. */
  get ended(): number {
    return this.world.ends.filter(isTerminal).length;
  }
}
