import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { programs } from "../store/postgres/server.js";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import { root } from "./support/build.js";
import type { Home, ServerProcess } from "./support/server-process.js";
import { endDatabase, sharedStores } from "./support/shared-stores.js";
import { resuming, say, stateOf, taskOf } from "./support/story.js";

afterAll(endDatabase);

/** Starts a task on a server. */
async function begin(driver: Driver, text: string): Promise<string> {
  const request = { ...say(text), configuration: { returnImmediately: true } };
  const { message } = await driver.call("SendMessage", request, resuming());
  const { task } = message as { task: JsonObject };
  return String(task.id);
}

async function cancel(driver: Driver, id: string): Promise<JsonObject> {
  const { message, error } = await driver.call("CancelTask", { id }, resuming());
  if (message === undefined) throw new Error(`The task was not canceled: ${JSON.stringify(error)}`);
  return message;
}

const order = (task: JsonObject): string => JSON.stringify(task.artifacts ?? []);

describe.skipIf(programs() === undefined)("a cancel at one of two servers on a database", { timeout: 60_000 }, () => {
  let home: Home;
  let one: ServerProcess;
  let two: ServerProcess;

  beforeEach(async () => {
    const store = sharedStores.find(({ name }) => name.includes("PostgreSQL"));
    if (store === undefined) throw new Error("PostgreSQL is installed");
    // The lease is far longer than the test, so the other server does not take over.
    home = store.home("--lease", "5m", "--cancel-grace", "20s");
    home.agent = join(root, "test/fixtures/agents/tidy.mjs");
    [one, two] = await Promise.all([home.start(), home.start()]);
  }, 60_000);

  afterEach(() => home.leave());

  it("gives the agent at the other its grace period, over every binding", async () => {
    await Promise.all(
      bindings.map(async (binding) => {
        const [here, there] = [binding.connect(one), binding.connect(two)];
        const task = await cancel(there, await begin(here, binding.name));
        expect(stateOf(task), binding.name).toBe("TASK_STATE_CANCELED");
        expect(order(task), binding.name).toContain("in order after canceled");
        here.close();
        there.close();
      }),
    );
  });

  it("ends the task by itself when the other is stopped, which stores nothing more", async () => {
    const [binding] = bindings;
    const [here, there] = [binding?.connect(one) as Driver, binding?.connect(two) as Driver];
    const id = await begin(here, "stopped");
    one.signal("SIGSTOP");
    const task = await cancel(there, id);
    expect(stateOf(task)).toBe("TASK_STATE_CANCELED");
    expect(order(task)).toBe("[]");
    one.signal("SIGCONT");
    // The first server receives the cancel and the end late.
    await expect.poll(async () => stateOf(await taskOf(here, id))).toBe("TASK_STATE_CANCELED");
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(order(await taskOf(there, id))).toBe("[]");
    here.close();
    there.close();
  });

  it("ends the task by itself when the other is dead", async () => {
    const [binding] = bindings;
    const [here, there] = [binding?.connect(one) as Driver, binding?.connect(two) as Driver];
    const id = await begin(here, "dead");
    await one.kill();
    expect(stateOf(await cancel(there, id))).toBe("TASK_STATE_CANCELED");
    here.close();
    there.close();
  });
});
