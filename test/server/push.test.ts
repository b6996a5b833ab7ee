import { create } from "@bufbuild/protobuf";
import { expect, it, onTestFinished } from "vitest";
import { TaskPushNotificationConfigSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Agent } from "../../src/agent/agent.js";
import { completed } from "../../src/agent/event.js";
import { createA2A } from "../../src/server/create-a2a.js";
import { pushConfigurationsOf } from "../../src/server/push-delivery.js";
import { type PushModules, pushModules } from "../../src/server/push-modules.js";
import { resolveOptions } from "../../src/server/resolve-options.js";
import { memoryStore } from "../../src/store/memory/index.js";

const agent: Agent = {
  card: { name: "Probe", description: "Answers.", version: "1.0.0" },
  async *execute() {
    yield completed();
  },
};

it("A server without the option has no control of push notifications", () => {
  expect(createA2A({ agent, store: memoryStore() }).push).toBeUndefined();
});

it("A server with it says what it delivers, from its start to its end", async () => {
  const a2a = createA2A({ agent, store: memoryStore(), push: true });
  onTestFinished(() => a2a.close());
  const nothing = { working: 0, waiting: 0, sent: 0, failed: 0, givenUp: 0, failingHosts: [] };
  expect(a2a.push?.status()).toEqual(nothing);
  await a2a.start();
  expect(a2a.push?.status()).toEqual(nothing);
  expect(await a2a.push?.deadLetters()).toEqual([]);
  expect(await a2a.push?.redrive()).toBe(0);
  await expect(a2a.push?.deadLetters({ limit: 0 })).rejects.toMatchObject({ reason: "INVALID_PARAMS" });
  await a2a.close();
  expect(a2a.push?.status()).toEqual(nothing);
});

it("loads the check of webhooks again after its import has failed", async () => {
  let loads = 0;
  const guard = async (): ReturnType<PushModules["guard"]> => {
    if (++loads === 1) throw new Error("no such file");
    return pushModules.guard();
  };
  const settings = resolveOptions({ agent, store: memoryStore(), push: { allow: ["127.0.0.1"], allowHttp: true } });
  const configurations = pushConfigurationsOf(settings, { ...pushModules, guard });
  const config = create(TaskPushNotificationConfigSchema, { url: "http://127.0.0.1/hook" });
  await expect(configurations?.accept(config, "")).rejects.toThrow("no such file");
  await configurations?.accept(config, "");
  await configurations?.accept(config, "");
  expect(loads).toBe(2);
});
