import { vi } from "vitest";
import type { Lane } from "../engine/stores.js";

/**
 * What the engine's own tests say of an engine on a store, on one that delays and reorders what it is asked. Tests that
 * need none, or bring their own, would only be run again.
 */
export async function runEngineSuite(lane: Lane): Promise<void> {
  vi.setConfig({ testTimeout: 60_000 });
  // Known before the tests are made: they look at it when they are loaded.
  (globalThis as { parleyTestLane?: Lane }).parleyTestLane = lane;
  await import("../engine/engine.test.js");
  await import("../engine/recovery.test.js");
  await import("../engine/lease.test.js");
  await import("../engine/hostile-agent.test.js");
  await import("../engine/any-agent.test.js");
  await import("../engine/moving-pages.test.js");
  await import("../engine/stored-fold.test.js");
  await import("../engine/two-processes.test.js");
  await import("../engine/idempotency.test.js");
  await import("../engine/named-tasks.test.js");
  await import("../engine/push-configs.test.js");
  await import("../engine/one-throw.test.js");
  await import("../engine/unstored.test.js");
  await import("../engine/pushes.test.js");
  await import("../engine/execution-queue.test.js");
}
