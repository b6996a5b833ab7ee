import type { Judged } from "../goals.js";
import type { Options } from "../options.js";
import type { Attacker, Caller, Load, TestServer } from "./child.js";

/** Number of concurrent callers of a rate, unless its lane has another. */
export const CALLERS = 50;

/** Bytes of a megabyte, as everything here counts them. */
export const MB = 1024 * 1024;

/** One line of a table: figures by the name of their column, which says the unit. */
export interface Row {
  readonly name: string;
  /** Curve that the row is a point of. `at` is its position: a number of bytes, chunks, tasks or readers. */
  readonly series?: string;
  readonly at?: number;
  readonly figures: Readonly<Record<string, number>>;
  readonly targets?: readonly Judged[];
  /** Reason for missing figures, or a remark about the figures. */
  readonly note?: string;
}

/** The result of a scenario. */
export interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
}

/** Servers, clients and files for a scenario. */
export interface Bench {
  readonly options: Options;
  readonly load: Load;
  /** Starts a server that ends with the scenario, if not before. */
  start(program: string, ...args: string[]): Promise<TestServer>;
  /** Starts a process that attacks servers until the scenario ends. */
  attacker(): Promise<Attacker>;
  /** Starts a client that is measured: of which kind, over which binding, and where its server is. */
  caller(kind: string, binding: string, url: string, grpcPort: string): Promise<Caller>;
  /** Path of a new SQLite file, on disk, removed with the scenario. */
  database(): string;
  /** A directory for other files, removed with the scenario. */
  readonly directory: string;
}

export interface Scenario {
  readonly name: string;
  /** Why the machine cannot run it, or undefined if it can. */
  lacks?(): string | undefined;
  run(bench: Bench): Promise<Section>;
}
