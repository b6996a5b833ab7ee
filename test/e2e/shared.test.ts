import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Driver } from "../support/driver.js";
import { bindings } from "../support/drivers.js";
import type { Home, ServerProcess } from "./support/server-process.js";
import { endDatabase, sharedStores } from "./support/shared-stores.js";
import { resuming, Story, say, settled, stateOf } from "./support/story.js";

let home: Home;
let one: ServerProcess;
let two: ServerProcess;

afterAll(endDatabase);

/** Starts a task on the first server. Returns its id. */
async function begin(driver: Driver, text: string): Promise<string> {
  const request = { ...say(text), configuration: { returnImmediately: true } };
  const { message } = await driver.call("SendMessage", request, resuming());
  const task = message?.task as JsonObject;
  return String(task.id);
}

describe.each(sharedStores)("two servers that share $name", { timeout: 60_000 }, (store) => {
  beforeAll(async () => {
    home = store.home("--lease", "1s");
    [one, two] = await Promise.all([home.start(), home.start()]);
  }, 60_000);

  afterAll(() => home.leave());

  it("tell of each other's events, over every binding", async () => {
    await Promise.all(
      bindings.map(async (binding) => {
        const [here, there] = [binding.connect(one), binding.connect(two)];
        const id = await begin(here, "stream 20 16 100");
        const story = new Story();
        const stream = there.stream("SubscribeToTask", { id }, resuming({ "Parley-After-Generation": "1" }));
        expect(await story.follow(stream), binding.name).toEqual({ end: true });
        expect([...story.events.keys()], binding.name).toEqual(Array.from({ length: 22 }, (_, i) => i + 2));
        expect(story.state, binding.name).toBe("TASK_STATE_COMPLETED");
        here.close();
        there.close();
      }),
    );
  });

  it("take over what a killed one leaves when its lease is over", async () => {
    const [binding] = bindings;
    const [here, there] = [binding?.connect(one) as Driver, binding?.connect(two) as Driver];
    const ids = await Promise.all([begin(here, "wait 1500"), begin(here, "stream 20000 16 1")]);
    await new Promise((resolve) => setTimeout(resolve, 200));
    await one.kill();
    const tasks = await Promise.all(ids.map((id) => settled(there, id)));
    expect(tasks.map(stateOf)).toEqual(["TASK_STATE_COMPLETED", "TASK_STATE_FAILED"]);
    expect(JSON.stringify(tasks[0]?.history)).toContain("Waiting again: attempt 2.");
    here.close();
    there.close();
  });
});
