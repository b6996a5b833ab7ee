import type { Audit } from "../audit/audit.js";
import { nextRound } from "../core/event-loop.js";
import type { Logger } from "../core/log.js";
import type { PushConfigKey, TaskStore } from "../store/task-store.js";
import { type ConfigVault, MissingKeyError } from "./secrets.js";

/** Configurations that are looked at in one go. Their new bytes share a commit. */
const PAGE = 100;

/** What stored configurations are brought to the current key with. */
export interface RotationParts {
  readonly store: TaskStore;
  readonly vault: ConfigVault;
  readonly logger: Logger;
  readonly audit?: Audit | undefined;
  /** Whether the server ends: what is left is done after its next start. */
  readonly isOver: () => boolean;
}

/** What came of it. */
export interface Rotation {
  /** Encrypted by the current key now, and not before. */
  readonly encrypted: number;
  /** Keys that are missing, by how many configurations need each. */
  readonly missing: ReadonlyMap<string, number>;
  /** Configurations that are damaged. */
  readonly damaged: number;
  /** Whether all configurations were looked at. */
  readonly isWhole: boolean;
}

/**
 * Encrypts by the current key whatever is stored in another way: by an older key, or as it came. It runs beside everything else,
 * also beside other processes that do the same, as what was changed meanwhile is left alone. Then the log says whether older keys
 * are needed any more. Without a current key it does nothing.
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
        "all push notification configurations are encrypted by this key; older ones may go",
      );
    }
    return done;
  } catch (error) {
    // The end of the server, or trouble that the store's health reports: the next start goes on.
    if (!parts.isOver()) logger.warn({ err: error }, "push notification configurations could not be encrypted anew");
    return undefined;
  }
}

async function rotate({ store, vault, isOver }: RotationParts): Promise<Rotation> {
  const missing = new Map<string, number>();
  let [encrypted, damaged] = [0, 0];
  /** The new bytes of a configuration, or undefined where nothing is to be done, or can be. */
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
    await nextRound();
  }
}
