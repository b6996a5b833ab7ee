import { randomUUID } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { afterAll, describe, expect, it } from "vitest";
import type { CallOptions, Driver, OpenStream, Reply } from "../support/driver.js";
import { type Binding, bindings } from "../support/drivers.js";
import { valueAt } from "../support/json-path.js";
import { differences, fill, fillAll } from "../support/match.js";
import { gates } from "./agents.js";
import type { Case, ErrorPattern, Expectation, KnownFailure, Saves, Step, StepOptions } from "./case.js";
import { errorDifferences } from "./error-match.js";
import { type StoreName, Worlds } from "./worlds.js";

/** Timeout of a case in milliseconds, which allows for a busy machine. */
export const patience = 30_000;

/** Bindings and store of a table's run. */
export interface RunOptions {
  /** Default: all. */
  readonly on?: readonly Binding[];
  /** Default: `memory`. */
  readonly store?: StoreName;
  /** Chooses the cases and bindings to run. Default: every case over every binding. */
  readonly choose?: (table: readonly CaseOver[]) => readonly CaseOver[];
}

/** A case over a binding. */
export interface CaseOver {
  readonly one: Case;
  readonly binding: Binding;
}

/** Runs every case over every binding, against one server for each setup and binding. */
export function runTable(
  cases: readonly Case[],
  { on = bindings, store = "memory", choose = (table) => table }: RunOptions = {},
): void {
  const all = on.flatMap((binding) => cases.map((one) => ({ one, binding })));
  const chosen = choose(all.filter(({ one, binding }) => one.except?.[binding.name] === undefined));
  describe.each(on.map((binding) => [binding.title ?? binding.name, binding] as const))("%s", (_name, binding) => {
    const worlds = new Worlds(binding, store);
    afterAll(() => worlds.close());
    for (const { one } of chosen.filter((each) => each.binding === binding)) {
      const { failing, name, ids, setup = "main" } = one;
      const known = failing?.[binding.name];
      const title = `${name} [${ids.join(" ")}]`;
      const test = async (): Promise<void> => runCase(one, (await worlds.get(setup)).driver);
      if (known === undefined) it(title, test, patience);
      else it(`${title} fails: ${known.why}`, () => failsAsKnown(test, known), patience);
    }
  });
}

/** Passes if the test fails in the known way. */
async function failsAsKnown(test: () => Promise<void>, { shows }: KnownFailure): Promise<void> {
  const failure = await test().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  if (failure === undefined) expect.fail("It does not fail any more: the case can say so.");
  expect(failure).toMatch(shows);
}

/** The open calls and streams of a case, with its saved values. */
class Run {
  readonly driver: Driver;
  readonly saved: Map<string, string> = new Map([["run", randomUUID()]]);
  readonly replies = new Map<string, Promise<Reply>>();
  readonly streams = new Map<string, OpenStream>();
  readonly #leave = new AbortController();

  constructor(driver: Driver) {
    this.driver = driver;
  }

  request(json: JsonObject): JsonObject {
    return fillAll(json, this.#names());
  }

  options(options: StepOptions = {}): CallOptions {
    const { headers, query, timeoutMs } = options;
    const names = this.#names();
    return {
      ...(headers === undefined ? {} : { headers: fillAll(headers as JsonObject, names) as typeof headers }),
      ...(query === undefined ? {} : { query: fillAll(query, names) }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
  }

  save(saves: Saves | undefined, message: JsonValue | undefined): void {
    for (const [name, wanted] of Object.entries(saves ?? {})) {
      const [place, change] = typeof wanted === "string" ? [wanted, (text: string) => text] : wanted;
      const value = valueAt(message, place);
      expect(value, `nothing to save at ${place} in ${JSON.stringify(message)}`).toBeDefined();
      this.saved.set(name, change(typeof value === "string" ? value : JSON.stringify(value)));
    }
  }

  stream(name: string): OpenStream {
    const stream = this.streams.get(name);
    if (stream === undefined) throw new Error(`The case has no stream ${name}.`);
    return stream;
  }

  /** Fires at the end of the case, for calls that were started. */
  get signal(): AbortSignal {
    return this.#leave.signal;
  }

  /** Leaves all open streams and calls. */
  async leave(): Promise<void> {
    this.#leave.abort();
    for (const stream of this.streams.values()) stream.hangUp();
    await Promise.allSettled(this.replies.values());
  }

  /** The saved values, and `{new}`, which differs each time. */
  #names(): ReadonlyMap<string, string> {
    const { saved } = this;
    return { get: (name: string) => (name === "new" ? randomUUID() : saved.get(name)) } as ReadonlyMap<string, string>;
  }
}

/** Runs the steps of a case. Closes all open calls and streams at the end. */
export async function runCase({ steps }: Case, driver: Driver): Promise<void> {
  const run = new Run(driver);
  try {
    for (const step of steps) await runStep(run, step);
  } finally {
    await run.leave();
  }
}

async function runStep(run: Run, step: Step): Promise<void> {
  const { driver, saved } = run;
  switch (step.kind) {
    case "call": {
      const reply = await driver.call(step.rpc, run.request(step.request), run.options(step.options));
      return judge(run, reply, step.expect);
    }
    case "begin": {
      const options = { ...run.options(step.options), signal: run.signal };
      const reply = driver.call(step.rpc, run.request(step.request), options);
      reply.catch(() => {});
      run.replies.set(step.name, reply);
      return;
    }
    case "settle":
      return judge(run, await (run.replies.get(step.name) ?? Promise.reject(new Error(step.name))), step.expect);
    case "open":
      run.streams.set(step.name, driver.stream(step.rpc, run.request(step.request), run.options(step.options)));
      return;
    case "read":
      return readEvents(run, step);
    case "finish":
      return finishStream(run, step);
    case "hangUp":
      return run.stream(step.name).hangUp();
    case "release":
      return gates.open(fill(step.gate, saved));
    case "reached":
      return gates.reached(fill(step.gate, saved));
    case "tick": {
      const now = Date.now();
      while (Date.now() === now) await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

function judge(run: Run, reply: Reply, { message, error, headers = {}, save }: Expectation): void {
  checkError(run, reply.error, error, reply.message);
  if (message !== undefined) check(differences(reply.message, message, run.saved));
  check(differences(reply.headers, headers, run.saved, "headers"));
  run.save(save, reply.message);
}

async function readEvents(run: Run, { name, events, save }: Step & { kind: "read" }): Promise<void> {
  const messages: JsonValue[] = [];
  for (const pattern of events) {
    const item = await run.stream(name).next();
    if (!("message" in item))
      expect.fail(`The stream is over after ${messages.length} events: ${JSON.stringify(item)}`);
    check(differences(item.message, pattern, run.saved, `event ${messages.length}`));
    messages.push(item.message);
  }
  run.save(save, messages);
}

async function finishStream(run: Run, step: Step & { kind: "finish" }): Promise<void> {
  const { name, last, events = [], error, headers } = step;
  const reply = await run.stream(name).rest();
  checkError(run, reply.error, error, reply.messages.slice());
  if (last === undefined) check(differences(reply.messages.slice(), events, run.saved, "events"));
  else check(differences(reply.messages.at(-1), last, run.saved, "the last event"));
  check(differences(reply.headers, headers ?? {}, run.saved, "headers"));
}

function checkError(
  run: Run,
  error: Reply["error"],
  expected: ErrorPattern | undefined,
  instead: JsonValue | undefined,
): void {
  if (expected === undefined) {
    if (error !== undefined) expect.fail(`The call failed: ${JSON.stringify(error)}`);
    return;
  }
  if (error === undefined) expect.fail(`No ${expected.reason}, but ${JSON.stringify(instead)}`);
  check(errorDifferences(error, expected, run.driver.name, run.saved));
}

function check(faults: readonly string[]): void {
  if (faults.length > 0) expect.fail(faults.join("\n"));
}
