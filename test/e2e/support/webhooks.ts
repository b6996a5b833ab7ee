import type { JsonObject } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { StreamResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Hit, Receiver } from "../../push/receiver.js";
import type { Driver } from "../../support/driver.js";
import { normalOfJson } from "../../support/proto-json.js";
import { generationIn, logOf, resuming, say, settled } from "./story.js";

const patience = { timeout: 120_000, interval: 100 };

/** Creates a task with two webhooks named after it. The receiver shows whether the call was accepted. */
export async function orderWith(receiver: Receiver, driver: Driver, name: string, text: string): Promise<void> {
  const taskPushNotificationConfig = { url: receiver.url(`/${name}/a`) };
  const request = {
    ...say(text, { contextId: name }),
    configuration: { returnImmediately: true, taskPushNotificationConfig },
  };
  const { message } = await driver.call("SendMessage", request, resuming());
  const { id } = (message as { task: JsonObject }).task;
  const second = { taskId: String(id), url: receiver.url(`/${name}/b`) };
  await driver.call("CreateTaskPushNotificationConfig", second, resuming());
}

/** Paths of webhooks that were called. */
export const pathsOf = (receiver: Receiver): string[] => [...new Set(receiver.hits.map(({ path }) => path))];

/** The event in the drivers' form, which omits a zero fraction of a second. */
function eventOf(hit: Hit): JsonObject {
  return Object.values(normalOfJson(StreamResponseSchema, JSON.parse(hit.body)))[0] as JsonObject;
}

/** Returns the fault in a webhook's notifications, compared with its task's generation, or undefined. */
function faultOf(receiver: Receiver, path: string, generation: number): string | undefined {
  const hits = receiver.of(path);
  const bodies = new Map<string, string>();
  let next = path.endsWith("/a") ? 1 : (hits[0]?.generation ?? 1);
  for (const { id, generation: came, body } of hits) {
    if (came > next) return `${came} came before ${next}`;
    if (came === next) {
      if (bodies.has(id)) return `${came} has the id of another event`;
      bodies.set(id, body);
      next++;
    } else if (bodies.get(id) !== body) return `${came} came again under another id, or as another event`;
  }
  return next === generation + 1 ? undefined : `${next} to ${generation} never came`;
}

/**
 * Waits until all tasks have ended and every webhook has received the end. Then compares the notifications with the
 * tasks' logs.
 */
export async function expectAllOf(receiver: Receiver, driver: Driver): Promise<number> {
  const ids = new Map<string, string>();
  for (const path of pathsOf(receiver)) {
    const event = eventOf(receiver.of(path)[0] as Hit);
    ids.set(path, String(event.taskId ?? event.id));
  }
  const generations = new Map<string, number>();
  for (const id of new Set(ids.values())) generations.set(id, generationIn(await settled(driver, id)));
  for (const [path, id] of ids) {
    const generation = generations.get(id) ?? 0;
    await expect.poll(() => receiver.of(path).at(-1)?.generation, patience).toBe(generation);
    expect(faultOf(receiver, path, generation), path).toBeUndefined();
  }
  // Compares one task's notifications with its log.
  const [path = "", id = ""] = [...ids].find(([each]) => each.endsWith("/a")) ?? [];
  const { events } = await logOf(driver, id);
  const sent = new Map(receiver.of(path).map((hit) => [hit.generation, JSON.stringify(withoutMetadata(eventOf(hit)))]));
  for (const [generation, event] of events) {
    const [shown] = Object.values(event) as JsonObject[];
    const logged = JSON.stringify(withoutMetadata(shown ?? {}));
    expect(sent.get(generation), `${generation} is ${logged}, and came as ${sent.get(generation)}`).toBe(logged);
  }
  return [...generations.values()].reduce((sum, each) => sum + each, 0);
}

/** Removes the generation that streams put into the metadata. */
function withoutMetadata({ metadata: _, ...event }: JsonObject): JsonObject {
  return event;
}
