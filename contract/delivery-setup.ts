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

/** Asks for all that is due. No holder is silent for so long while a test does something else. */
export const claim: ClaimDeliveries = { holder: "me", leaseMs: 600_000, now: NOW, limit: 100 };

/** A task with one configuration that is due. */
export async function createDue(store: TaskStore, taskId: string, named: Partial<PutPushConfig> = {}): Promise<void> {
  const head = await create(store, { taskId });
  await store.putPushConfig(configOf({ taskId, configId: "x", ...named }));
  await store.append({ ...followRequest(head), time: named.now ?? NOW });
}

/** Claims the one that is due the longest. */
export async function claimOne(store: TaskStore, request: Partial<ClaimDeliveries> = {}): Promise<ClaimedDelivery> {
  const [claimed] = await store.claimDeliveries({ ...claim, ...request });
  if (claimed === undefined) throw new Error("nothing is due");
  return claimed;
}

/** Ends a claim, by its holder unless the test says otherwise. */
export function settle(
  store: TaskStore,
  { taskId, configId, claim: number, position }: ClaimedDelivery,
  outcome: DeliveryOutcome,
  named: { readonly position?: number; readonly holder?: string } = {},
): Promise<"more" | "settled" | "lost"> {
  return store.settleDelivery({
    key: { taskId, configId },
    holder: "me",
    claim: number,
    position,
    outcome,
    ...named,
  });
}

/** Each in a word. */
export const keysOf = (all: readonly { taskId: string; configId: string }[]): string[] =>
  all.map(({ taskId, configId }) => `${taskId} ${configId}`);
