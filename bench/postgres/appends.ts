import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type PostgresStore, postgresStore } from "../../src/store/postgres/index.js";
import type { TaskRow } from "../../src/store/task-store.js";
import { median } from "../harness/rates.js";
import type { BenchDatabase } from "./database.js";

/** Length of one measurement, in milliseconds. */
const ROUND_MS = 500;

/**
 * Cost of one event. The CPU time of Node.js is that of the least disturbed round, since what else the machine does
 * only adds; that of the database is the one in the middle, because it cleans up in some rounds and not in others.
 */
export interface Cost {
  readonly perSecond: number;
  /** Of this process, in microseconds. */
  readonly nodeMicros: number;
  /** Of all processes of the database, in microseconds. */
  readonly databaseMicros: number;
}

/** Events to append, and the number of callers, each with a task of its own. */
export interface Load {
  readonly callers: number;
  readonly bytes: number;
  /** A task ends with this event, and the caller begins another one. Default: tasks do not end. */
  readonly eventsOfTask?: number;
}

const LEASE = { holder: "a process of the bench", turn: 1, attempt: 1 };

/** Appends of one entry each to tasks of a new store, as executions make them: with a fence. */
export class Appending {
  readonly store: PostgresStore;
  readonly #load: Load;
  readonly #rows: TaskRow[];
  readonly #entry: Uint8Array;
  #tasks = 0;

  private constructor(store: PostgresStore, load: Load) {
    this.store = store;
    this.#load = load;
    this.#entry = new Uint8Array(load.bytes).fill(120);
    this.#rows = Array.from({ length: load.callers }, () => this.#newRow());
  }

  /** Opens a store in a schema and creates the tasks. */
  static async open(database: BenchDatabase, schema: string, load: Load): Promise<Appending> {
    const appending = new Appending(await postgresStore({ url: database.url, schema }), load);
    await Promise.all(appending.#rows.map((_, caller) => appending.#append(caller)));
    return appending;
  }

  /** Sets the position of all tasks, after events were added in another way. */
  moveTo(position: number): void {
    for (const [index, row] of this.#rows.entries()) this.#rows[index] = { ...row, position, generation: position };
  }

  /** Appends for so many milliseconds, and returns the number of events. */
  async run(ms: number): Promise<number> {
    let events = 0;
    let isOver = false;
    setTimeout(() => (isOver = true), ms);
    await Promise.all(
      this.#rows.map(async (_, caller) => {
        for (; !isOver; events++) await this.#append(caller);
      }),
    );
    return events;
  }

  async measure(database: BenchDatabase, seconds: number): Promise<Cost> {
    await this.run(ROUND_MS);
    const rounds: Cost[] = [];
    for (let round = 0; round < Math.max(2, (seconds * 1_000) / ROUND_MS); round++) {
      const [node, before, begin] = [process.cpuUsage(), database.cpuMicros(), performance.now()];
      const events = await this.run(ROUND_MS);
      const { user, system } = process.cpuUsage(node);
      rounds.push({
        perSecond: (events * 1_000) / (performance.now() - begin),
        nodeMicros: (user + system) / events,
        databaseMicros: (database.cpuMicros() - before) / events,
      });
    }
    return {
      perSecond: median(rounds.map(({ perSecond }) => perSecond)),
      nodeMicros: Math.min(...rounds.map(({ nodeMicros }) => nodeMicros)),
      databaseMicros: median(rounds.map(({ databaseMicros }) => databaseMicros)),
    };
  }

  async #append(caller: number): Promise<void> {
    const before = this.#rows[caller] as TaskRow;
    const { position } = before;
    const ends = position + 1 === this.#load.eventsOfTask;
    const state = ends ? TaskState.COMPLETED : TaskState.WORKING;
    const head = { ...before, state, position: position + 1, generation: position + 1 };
    const creates = position === 0;
    const rest = creates ? { creates, lease: LEASE } : { fence: LEASE };
    await this.store.append({ head, expected: position, entries: [this.#entry], ...rest });
    this.#rows[caller] = ends ? this.#newRow() : head;
  }

  #newRow(): TaskRow {
    const taskId = `019ad2b7-0000-7000-8000-${String(this.#tasks++).padStart(12, "0")}`;
    return {
      ...{ taskId, tenant: "", owner: "owner", contextId: `context of ${taskId}` },
      ...{ state: TaskState.WORKING, statusTime: 1_000, position: 0, generation: 0 },
    };
  }
}
