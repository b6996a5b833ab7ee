import type { Audit } from "../audit/audit.js";
import { yieldToEventLoop } from "../core/event-loop.js";
import type { Logger } from "../core/log.js";
import type { PushConfigKey, TaskStore } from "../store/task-store.js";
import { type ConfigVault, MissingKeyError } from "./secrets.js";

/** Configurations per page. Their new bytes share a commit. */
const PAGE = 100;

interface RotationParts {
  readonly store: TaskStore;
  readonly vault: ConfigVault;
  readonly logger: Logger;
  readonly audit?: Audit | undefined;
  /** True during shutdown: the next start continues. */
  readonly isOver: () => boolean;
}

interface Rotation {
  /** Number of configurations that the current key encrypted in this run. */
  readonly encrypted: number;
  /** Missing keys, with the number of configurations that need each. */
  readonly missing: ReadonlyMap<string, number>;
  readonly damaged: number;
  /** True if all configurations were scanned. */
  readonly isWhole: boolean;
}

/**
 * Encrypts with the current key every configuration stored unencrypted or under an older key. It runs during normal
 * operation, also in several processes, and skips configurations that changed meanwhile. It then logs whether older
 * keys are still needed. Does nothing without a current key.
 */
export async function encryptStored(parts: RotationParts): Promise<Rotation | undefined> {
  const { vault, logger, audit } = parts;
  const key = vault.currentKeyId;
  if (key === undefined) return undefined;
  try {
    const done = await rotate(parts);
    const { encrypted, missing, damaged } = done;
    if (encrypted > 0) audit?.record({ event: "key.rotated", use: "push-secrets", key, count: encrypted });
    if (missing.size > 0 || damaged > 0) {
      const facts = { key, encrypted, missing: Object.fromEntries(missing), damaged };
      logger.warn(facts, "push notification configurations are encrypted by keys that are missing, or damaged");
    } else if (encrypted > 0 && done.isWhole) {
      logger.info(
        { key, encrypted },
        "all push notification configurations are encrypted by this key; older keys can be removed",
      );
    }
    return done;
  } catch (error) {
    // Shutdown, or a fault that the store's health reports: the next start continues.
    if (!parts.isOver()) logger.warn({ err: error }, "push notification configurations could not be re-encrypted");
    return undefined;
  }
}

async function rotate({ store, vault, isOver }: RotationParts): Promise<Rotation> {
  const missing = new Map<string, number>();
  let [encrypted, damaged] = [0, 0];
  /** The new bytes of a configuration, or undefined if it stays as it is. */
  const renewed = (place: PushConfigKey, bytes: Uint8Array): Uint8Array | undefined => {
    try {
      if (vault.isCurrent(bytes)) return undefined;
      const { config, version } = vault.open(place, bytes);
      return vault.seal(place, config, version);
    } catch (error) {
      if (error instanceof MissingKeyError) missing.set(error.keyId, (missing.get(error.keyId) ?? 0) + 1);
      else damaged++;
      return undefined;
    }
  };
  for (let after: PushConfigKey | undefined; ; ) {
    if (isOver()) return { encrypted, missing, damaged, isWhole: false };
    const page = await store.scanPushConfigs({ limit: PAGE, ...(after && { after }) });
    const writes = page.map(async ({ taskId, configId, bytes: from }) => {
      const to = renewed({ taskId, configId }, from);
      return to !== undefined && (await store.rewritePushConfig({ taskId, configId, from, to }));
    });
    encrypted += (await Promise.all(writes)).filter(Boolean).length;
    const last = page.at(-1);
    if (last === undefined) return { encrypted, missing, damaged, isWhole: true };
    after = { taskId: last.taskId, configId: last.configId };
    await yieldToEventLoop();
  }
}
