import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { generationIn, isFinal, logOf, resuming, stateOf } from "../e2e/support/story.js";
import type { Driver } from "../support/driver.js";
import { bindingOf } from "../support/drivers.js";
import type { FinalTask } from "./records.js";
import type { Replica } from "./replica.js";

/** Reads every task: its log from the replicas in turn, and its state from all of them. */
export async function readFinals(replicas: readonly Replica[]): Promise<FinalTask[]> {
  const drivers = replicas.map((replica) => bindingOf("rest").connect(replica));
  try {
    const all = await listAll(drivers[0] as Driver);
    const tasks: FinalTask[] = [];
    for (let at = 0; at < all.length; at += 8) {
      const some = all.slice(at, at + 8);
      tasks.push(...(await Promise.all(some.map(({ id }, i) => readOne(String(id), replicas, drivers, at + i)))));
    }
    return tasks;
  } finally {
    for (const driver of drivers) driver.close();
  }
}

async function readOne(
  id: string,
  replicas: readonly Replica[],
  drivers: readonly Driver[],
  turn: number,
): Promise<FinalTask> {
  const shown = await Promise.all(drivers.map((driver) => patiently(() => get(driver, id))));
  const task = shown[turn % shown.length] as JsonObject;
  const texts = shown.map((one) => JSON.stringify(one));
  const log = await patiently(() => logOf(drivers[turn % drivers.length] as Driver, id));
  const history = (task.history ?? []) as { role: string; messageId: string; parts: { text?: string }[] }[];
  const asked = history.filter(({ role }) => role === "ROLE_USER");
  const { parent } = JSON.parse(asked[0]?.parts[0]?.text ?? "{}") as { parent?: string };
  return {
    id,
    ...(parent !== undefined && { parent }),
    context: String(task.contextId),
    state: stateOf(task),
    generation: generationIn(task),
    messages: asked.map(({ messageId }) => messageId),
    events: [...log.events],
    // An unfinished task may change between two reads.
    disagreeing: isFinal(stateOf(task))
      ? replicas.flatMap(({ name }, i) => (texts[i] === texts[turn % shown.length] ? [] : [name]))
      : [],
  };
}

async function get(driver: Driver, id: string): Promise<JsonObject> {
  const { message, error } = await driver.call("GetTask", { id }, resuming());
  if (message === undefined) throw new Error(`The task ${id} cannot be read: ${JSON.stringify(error)}`);
  return message;
}

/** All tasks, read in pages. */
async function listAll(driver: Driver): Promise<JsonObject[]> {
  const tasks: JsonObject[] = [];
  for (let pageToken = ""; ; ) {
    const { message, error } = await driver.call("ListTasks", { pageSize: 100, pageToken });
    if (message === undefined) throw new Error(`The tasks cannot be listed: ${JSON.stringify(error)}`);
    tasks.push(...((message.tasks ?? []) as JsonObject[]));
    pageToken = String(message.nextPageToken ?? "");
    if (pageToken === "") return tasks;
  }
}

/** Repeats an action that a busy machine may refuse. */
async function patiently<T>(act: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act();
    } catch (error) {
      if (attempt === 5) throw error;
      await sleep(300);
    }
  }
}
