import type {
  ClaimDeliveries,
  ClaimedDelivery,
  DeliveryOutcome,
  PutPushConfig,
  TaskStore,
} from "../src/store/task-store.js";
import { configOf, create, followRequest } from "./setup.js";

/** The time of these tests, in milliseconds since the epoch. */
export const NOW = 10_000;

/** Claims everything due. The lease outlasts every test. */
export const claim: ClaimDeliveries = { holder: "me", leaseMs: 600_000, now: NOW, limit: 100 };

/** Creates a task with one due configuration. */
export async function createDue(store: TaskStore, taskId: string, named: Partial<PutPushConfig> = {}): Promise<void> {
  const head = await create(store, { taskId });
  await store.putPushConfig(configOf({ taskId, configId: "x", ...named }));
  await store.append({ ...followRequest(head), time: named.now ?? NOW });
}

/** Claims the configuration that has been due longest. */
export async function claimOne(store: TaskStore, request: Partial<ClaimDeliveries> = {}): Promise<ClaimedDelivery> {
  const [claimed] = await store.claimDeliveries({ ...claim, ...request });
  if (claimed === undefined) throw new Error("nothing is due");
  return claimed;
}

/** Ends a claim, by its holder unless the test names another one. */
export function complete(
  store: TaskStore,
  { taskId, configId, claim: number, position }: ClaimedDelivery,
  outcome: DeliveryOutcome,
  named: { readonly position?: number; readonly holder?: string } = {},
): Promise<"more" | "completed" | "lost"> {
  return store.completeDelivery({
    key: { taskId, configId },
    holder: "me",
    claim: number,
    position,
    outcome,
    ...named,
  });
}

/** The keys of configurations as strings. */
export const keysOf = (all: readonly { taskId: string; configId: string }[]): string[] =>
  all.map(({ taskId, configId }) => `${taskId} ${configId}`);
