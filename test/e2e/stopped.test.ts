import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { root } from "./support/build.js";
import type { Home, ServerProcess } from "./support/server-process.js";
import { endDatabase, type SharedStore, sharedStores } from "./support/shared-stores.js";
import { logOf, resuming, say, settled, stateOf, statusText } from "./support/story.js";

/** Long enough for several heartbeats of a healthy process on a busy machine. */
const leaseMs = 2_000;

let home: Home;
let one: ServerProcess;
let two: ServerProcess;
let here: Driver;
let there: Driver;

/** Starts two servers on one store. A file sets their clocks. */
async function start(store: SharedStore): Promise<void> {
  const clock = pathToFileURL(join(root, "test/fixtures/jumping-clock.mjs")).href;
  home = store.home("--lease", `${leaseMs}ms`);
  home.agent = join(root, "test/fixtures/agents/marking.mjs");
  home.under = ["env", `NODE_OPTIONS=--import=${clock}`, `TEST_CLOCK_FILE=${clockFile()}`];
  [one, two] = await Promise.all([home.start(), home.start()]);
  const [binding] = bindings;
  [here, there] = [binding?.connect(one) as Driver, binding?.connect(two) as Driver];
}

const clockFile = (): string => join(home.folder, "clock");

afterAll(endDatabase);

/** Starts a task on a server. Returns when it is stored. */
async function begin(text: string, driver: Driver = here): Promise<string> {
  const request = { ...say(text), configuration: { returnImmediately: true } };
  const { message } = await driver.call("SendMessage", request, resuming());
  const { task } = message as { task: JsonObject };
  return String(task.id);
}

/**
 * Stops the first server between two commits. In the middle of a commit, it would hold the file's lock, and the other
 * server could not write until it continues (docs/recovery.md).
 */
async function stopFirst(): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    one.signal("SIGSTOP");
    const write = begin(`mark 1 ${attempt}`, there).then(
      () => true,
      () => false,
    );
    if (await Promise.race([write, sleep(1_000).then(() => false)])) return;
    if (attempt === 5) throw new Error("The second server could not write, whenever the first one was stopped.");
    one.signal("SIGCONT");
    await write;
  }
}

/** The attempts that wrote the marks of a task, in the order of its log. */
async function attemptsOf(driver: Driver, id: string): Promise<string[]> {
  const { events } = await logOf(driver, id);
  return [...events.values()].flatMap((event) => {
    const { artifactUpdate } = event as { artifactUpdate?: { artifact: { parts: { text: string }[] } } };
    return artifactUpdate === undefined ? [] : [String(artifactUpdate.artifact.parts[0]?.text).trim()];
  });
}

describe.each(sharedStores)("two servers on $name", { timeout: 120_000 }, (store) => {
  beforeEach(() => start(store), 60_000);

  afterEach(async () => {
    for (const server of [one, two]) server.signal("SIGCONT");
    here.close();
    there.close();
    await home.leave();
  });

  it("leave a task to the one that took it over while the other was stopped, and which then goes on", async () => {
    const ids = await Promise.all([begin("mark 60 100"), begin("mark 60 100")]);
    await sleep(1_000);
    await stopFirst();
    // The other server has taken over the tasks when the first one continues.
    await expect.poll(async () => (await attemptsOf(there, ids[0] as string)).at(-1), { timeout: 60_000 }).toBe("2");
    one.signal("SIGCONT");
    const tasks = await Promise.all(ids.map((id) => settled(there, id)));
    for (const [index, task] of tasks.entries()) {
      expect(statusText(task)).toBe("attempt 2");
      const attempts = await attemptsOf(there, ids[index] as string);
      // No mark of the first attempt follows one of the second.
      expect(attempts).toEqual([...attempts].sort());
      expect(attempts.filter((attempt) => attempt === "2")).toHaveLength(60);
      expect(await attemptsOf(here, ids[index] as string)).toEqual(attempts);
    }
    expect(one.log).toContain("taken over");
  });

  it("take nothing from each other when both were stopped", async () => {
    const id = await begin("mark 60 100");
    await sleep(1_000);
    for (let round = 0; round < 2; round++) {
      for (const server of [one, two]) server.signal("SIGSTOP");
      await sleep(2 * leaseMs);
      for (const server of [two, one]) server.signal("SIGCONT");
      await sleep(500);
    }
    const task = await settled(there, id);
    expect(statusText(task)).toBe("attempt 1");
    expect(new Set(await attemptsOf(there, id))).toEqual(new Set(["1"]));
  });

  it("take nothing from one whose agent blocks it for longer than a lease", async () => {
    const id = await begin(`block ${2 * leaseMs + 500}`);
    const task = await settled(there, id);
    expect(statusText(task)).toBe("attempt 1");
  });

  it.each([5, -5])("take nothing from each other when the clock jumps by %i hours", async (hours) => {
    const id = await begin("mark 50 100");
    await sleep(500);
    writeFileSync(clockFile(), `${hours * 3_600_000}`);
    const task = await settled(there, id);
    expect(statusText(task)).toBe("attempt 1");
    // The clock has jumped.
    const stamp = String((task.status as JsonObject).timestamp);
    expect(Math.round((Date.parse(stamp) - Date.now()) / 3_600_000)).toBe(hours);
  });

  it("take over what a dead one left though the clock was set back", async () => {
    const id = await begin("mark 20 100");
    await sleep(500);
    writeFileSync(clockFile(), `${-5 * 3_600_000}`);
    await sleep(100);
    await one.kill();
    const task = await settled(there, id);
    expect(stateOf(task)).toBe("TASK_STATE_COMPLETED");
    expect(statusText(task)).toBe("attempt 2");
  });
});
