import { vi } from "vitest";
import type { Lane } from "../engine/stores.js";
import { pairs } from "../support/covering.js";
import { sample } from "../support/soak.js";

const lanes: readonly Lane[] = [
  { behind: "memory", shared: false },
  { behind: "memory", shared: true },
  { behind: "SQLite", shared: false },
  { behind: "SQLite", shared: true },
  { behind: "PostgreSQL", shared: true },
];

/**
 * The files of the engine's tests that run on slow stores. Tests that need no store, or bring their own, would only be run
 * again.
 */
const files: Readonly<Record<string, () => Promise<unknown>>> = {
  engine: () => import("../engine/engine.test.js"),
  recovery: () => import("../engine/recovery.test.js"),
  lease: () => import("../engine/lease.test.js"),
  "hostile-agent": () => import("../engine/hostile-agent.test.js"),
  "any-agent": () => import("../engine/any-agent.test.js"),
  "moving-pages": () => import("../engine/moving-pages.test.js"),
  "stored-fold": () => import("../engine/stored-fold.test.js"),
  "two-processes": () => import("../engine/two-processes.test.js"),
  idempotency: () => import("../engine/idempotency.test.js"),
  "named-tasks": () => import("../engine/named-tasks.test.js"),
  "push-configs": () => import("../engine/push-configs.test.js"),
  "one-throw": () => import("../engine/one-throw.test.js"),
  unstored: () => import("../engine/unstored.test.js"),
  pushes: () => import("../engine/pushes.test.js"),
  steps: () => import("../engine/steps.test.js"),
  emit: () => import("../engine/emit.test.js"),
  conversation: () => import("../engine/conversation.test.js"),
  "conversation-state": () => import("../engine/conversation-state.test.js"),
  "execution-queue": () => import("../engine/execution-queue.test.js"),
};

/** Opens hundreds of stores, for each of which PostgreSQL would create its tables. */
const manyStores = "conversation-state";

const covered = sample(
  Object.keys(files).flatMap((file, i) => {
    // A cover takes what comes first: half of the files begin with another lane.
    const order = i % 2 === 0 ? lanes : [...lanes.slice(1), ...lanes.slice(0, 1)];
    return order
      .filter(({ behind }) => behind !== "PostgreSQL" || file !== manyStores)
      .map(({ behind, shared }) => ({ file, behind, shared }));
  }),
  ({ file, behind, shared }) => pairs(file, behind, String(shared)),
);

/** Runs the engine's own tests on stores of a lane, which delay and reorder what they are asked. */
export async function runEngineSuite({ behind, shared }: Lane): Promise<void> {
  vi.setConfig({ testTimeout: 60_000 });
  // Known before the tests are made: they look at it when they are loaded.
  (globalThis as { parleyTestLane?: Lane }).parleyTestLane = { behind, shared };
  for (const each of covered) {
    if (each.behind === behind && each.shared === shared) await files[each.file]?.();
  }
}
