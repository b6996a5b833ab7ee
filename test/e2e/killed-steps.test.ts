import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it, vi } from "vitest";
import { fixture } from "../cli/cli.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { seeded } from "../support/slow-store.js";
import { scaled } from "../support/soak.js";
import { Home } from "./support/server-process.js";
import { generationIn, logOf, resuming, say, stateOf, statusText, taskOf } from "./support/story.js";

vi.setConfig({ testTimeout: 300_000 });

/** Number of concurrent tasks. */
const TASKS = 3;

/** Approximate number of moments in all tasks at which a server can be killed. It is the maximum for one server. */
const MOMENTS = 90;

/** Seed of the moments. `PARLEY_KILL_SEED` repeats those of a run. */
const seed = Number(process.env.PARLEY_KILL_SEED ?? Math.floor(Math.random() * 2 ** 32));

let home: Home;
let folder = "";
afterEach(async () => {
  delete process.env.TEST_NOTES;
  delete process.env.TEST_DIE_AT;
  await home.leave();
  rmSync(folder, { recursive: true, force: true });
});

/** A client that finds its task by its message's idempotency key and answers the questions. */
class Client {
  task: JsonObject | undefined;
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  get id(): string {
    return String(this.task?.id);
  }

  /** Sends the message and the answers until the task ends. Throws if the server dies. */
  async work(driver: Driver): Promise<void> {
    this.task = await this.#send(driver, "go", { contextId: this.#name });
    for (;;) {
      this.task = await taskOf(driver, this.id);
      const state = stateOf(this.task);
      if (state === "TASK_STATE_COMPLETED" || state === "TASK_STATE_FAILED") return;
      if (state === "TASK_STATE_INPUT_REQUIRED") await this.#send(driver, "on", { taskId: this.id });
      await sleep(5);
    }
  }

  async #send(driver: Driver, text: string, to: { taskId?: string; contextId?: string }): Promise<JsonObject> {
    const request = { ...say(text, to), configuration: { returnImmediately: true } };
    const { message } = await driver.call(
      "SendMessage",
      request,
      resuming({ "Idempotency-Key": `${this.#name} ${text}` }),
    );
    return message?.task as JsonObject;
  }
}

/** Starts servers that kill themselves at a random moment, until all tasks have ended. @returns the number of kills */
async function untilOver(clients: readonly Client[], lives: number, random: () => number): Promise<number> {
  for (let life = 0; ; life++) {
    process.env.TEST_DIE_AT = life < lives ? String(1 + Math.floor(random() * MOMENTS)) : "0";
    const server = home.launch();
    const work = async (): Promise<boolean> => {
      await server.ready();
      const driver = bindings[life % bindings.length]?.connect(server) as Driver;
      const ended = await Promise.allSettled(clients.map((client) => client.work(driver)));
      driver.close();
      return ended.every(({ status }) => status === "fulfilled");
    };
    const isOver = await work().catch(() => false);
    await server.kill();
    if (isOver) return life;
  }
}

interface Note {
  readonly taskId: string;
  readonly step: string;
  readonly what: string;
  readonly value: string;
}

function notesOf(file: string): Note[] {
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const [taskId = "", step = "", what = "", value = ""] = JSON.parse(line) as string[];
    return { taskId, step, what, value };
  });
}

/** Values of a task's steps in the agent's notes. A step that ran after its result was stored is a fault. */
function valuesOf(notes: readonly Note[]): { readonly values: Map<string, string>; readonly faults: string[] } {
  const values = new Map<string, string>();
  const faults: string[] = [];
  for (const { step, what, value } of notes) {
    const known = values.get(step);
    if (what === "work" && known !== undefined) faults.push(`${step} worked again`);
    if (what === "stored" && known !== undefined && known !== value) faults.push(`${step} had another value`);
    if (what === "stored") values.set(step, value);
  }
  return { values, faults };
}

function textsOf(task: JsonObject): Record<string, string> {
  const { artifacts } = task as { artifacts: { artifactId: string; parts: { text: string }[] }[] };
  return Object.fromEntries(artifacts.map(({ artifactId, parts }) => [artifactId, parts[0]?.text ?? ""]));
}

describe("a process that is killed between any two events and steps", () => {
  it(`ends its tasks as if nothing had happened (PARLEY_KILL_SEED=${seed})`, async () => {
    folder = mkdtempSync(join(tmpdir(), "parley-steps-"));
    const file = join(folder, "notes");
    writeFileSync(file, "");
    process.env.TEST_NOTES = file;
    home = new Home();
    home.agent = fixture("stepping");
    const random = seeded(seed);
    const clients: Client[] = [];
    for (let round = 0; round < Number(process.env.PARLEY_KILL_ROUNDS ?? 1); round++) {
      const begun = Array.from({ length: TASKS }, (_, at) => new Client(`client ${round} ${at}`));
      expect(await untilOver(begun, scaled(12, 30), random)).toBeGreaterThan(1);
      clients.push(...begun);
    }
    process.env.TEST_DIE_AT = "0";
    const driver = bindings[0]?.connect(await home.start()) as Driver;
    for (const { id } of clients) {
      const task = await taskOf(driver, id);
      const { values, faults } = valuesOf(notesOf(file).filter(({ taskId }) => taskId === id));
      expect(faults).toEqual([]);
      const value = (step: string): string => values.get(step) ?? "none";
      const ofTurn = (text: string): [string, string][] => [
        ...[1, 2, 3].map((n): [string, string] => [`${text} search ${n}`, value(`${text} search${n}`)]),
        [`${text} both`, `${value(`${text} a`)}, ${value(`${text} b`)}`],
        [`${text} failed`, value(`${text} fail`)],
      ];
      const expected = Object.fromEntries([["plan", value("task plan")], ...ofTurn("go"), ...ofTurn("on")]);
      expect([stateOf(task), statusText(task)]).toEqual(["TASK_STATE_COMPLETED", value("task plan")]);
      expect(textsOf(task)).toEqual(expected);
      expect(values.get("on fail")).toMatch(/^The step "fail" failed: fail 0\.\d+$/);
      // Clients see no steps, and generations do not count them.
      const { events } = await logOf(driver, id);
      expect([...events.keys()]).toEqual(Array.from({ length: generationIn(task) - 1 }, (_, i) => i + 2));
      expect(JSON.stringify([...events.values()])).not.toMatch(/"step/);
    }
    driver.close();
  });
});
