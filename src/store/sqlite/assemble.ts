import { stat } from "node:fs/promises";
import type { Logger } from "../../core/log.js";
import { checkRequest } from "../check.js";
import type { StoreHealth } from "../health.js";
import { redriveInSteps } from "../redrive.js";
import {
  type DeadDelivery,
  type HeartbeatRequest,
  NO_HOLDER,
  type OperatorStore,
  type PushConfigKey,
  type PushStore,
  StoreError,
  type TaskStore,
} from "../task-store.js";
import type { Backups } from "./backups.js";
import { openReader } from "./connection.js";
import { sqliteDriver } from "./driver/choose.js";
import { type FileFault, FileGuard } from "./file-guard.js";
import { type FileIdentity, openFiles } from "./file-identity.js";
import type { Prepared } from "./open.js";
import { RESCHEDULE_STEP } from "./push-configs.js";
import { claimedOf } from "./push-rows.js";
import { Reader } from "./reader.js";
import { StoreFaults, watchFiles, watchSchema } from "./store-faults.js";
import type { RemovalStep, WriteRequest } from "./write.js";
import { WriterClient, type WriterHandle, type WriterStatistics } from "./writer-client.js";

/** An SQLite store, with operations for its operator. */
export interface SqliteStore extends TaskStore {
  /** Numbers of writes and of commits. */
  readonly statistics: WriterStatistics;
}

/** Options of a store that is open, with their defaults. */
export interface Settings {
  readonly stallMs: number;
  readonly writeTimeoutMs: number;
  readonly logger: Logger;
}

/** Default times of a store, in milliseconds. */
export const defaultTimes = { stallMs: 1_250, writeTimeoutMs: 5_000 } as const;

/** A file that is ready to be read and written. */
export interface Parts {
  readonly file: Pick<Prepared, "path" | "deadHolders" | "restorations">;
  readonly settings: Settings;
  /** True if other processes may have the same tasks open. */
  readonly shared: boolean;
  /** True if other programs may have the file open. */
  readonly foreign: boolean;
  readonly writer: "thread" | "process";
  readonly start: (files: FileIdentity) => WriterHandle;
  readonly onHeartbeat?: (request: HeartbeatRequest, files: FileIdentity) => void;
  /** Called when the store begins to close. */
  readonly onClose?: () => void;
  /** Called after the last connection has closed, with the fault of the files, if any. */
  readonly afterClose: (files: FileIdentity, fault: FileFault | undefined) => void;
}

/** Opens the parts of a store. @throws StoreError, or the system's error */
export function assemble(parts: Parts): SqliteStore {
  const { file, settings, foreign, start, afterClose } = parts;
  const reader = new Reader(openReader(file.path));
  // The reader has created SQLite's log, which exists as long as any connection has the file open.
  const files = openFiles(file.path);
  const guard = new FileGuard(files);
  const troubles = new StoreFaults();
  const writer = new WriterClient({ ...settings, start: () => start(files), troubles, writer: parts.writer });
  const unwatchFiles = watchFiles(files, guard, troubles);
  const unwatchSchema = foreign ? watchSchema(reader, file.path, troubles) : () => {};
  const driver = sqliteDriver();
  settings.logger.info({ path: file.path, driver: driver.name, sqlite: driver.version }, "the SQLite store is open");
  const unwatch = (): void => {
    unwatchFiles();
    unwatchSchema();
  };
  const releaseFiles = (): void => {
    const fault = troubles.fileFault ?? guard.checkNow();
    guard.close();
    afterClose(files, fault);
  };
  const backups = async (): Promise<Backups> => new (await import("./backups.js")).Backups(file.path, driver.name);
  return compose(parts, { files, reader, writer, backups, health: troubles.health, unwatch, releaseFiles });
}

interface Opened {
  readonly files: FileIdentity;
  readonly reader: Reader;
  readonly writer: WriterClient;
  /** Loads the code of backups, which few servers use. */
  readonly backups: () => Promise<Backups>;
  readonly health: StoreHealth;
  readonly unwatch: () => void;
  /** Cleans up the files after the last connection has closed, and releases the lock. */
  readonly releaseFiles: () => void;
}

function compose({ file, shared, onHeartbeat, onClose }: Parts, opened: Opened): SqliteStore {
  const { files, reader, writer, backups: loadBackups, health, unwatch, releaseFiles } = opened;
  // Holders whose leases can be claimed, if no other process can have the file. A read then finds such leases.
  const claimable = file.deadHolders && [NO_HOLDER, ...file.deadHolders];
  let closed: Promise<void> | undefined;
  let backups: Promise<Backups> | undefined;
  const close = async (): Promise<void> => {
    unwatch();
    onClose?.();
    (await backups)?.close();
    reader.retire();
    try {
      // While the reader is open, SQLite does not checkpoint by itself: the name may lead to another file by now.
      await writer.close();
    } finally {
      reader.close();
    }
    // A hanging thread may still write, so the file stays locked.
    releaseFiles();
  };
  return {
    shared,
    health,
    restorations: file.restorations,
    kind: "sqlite",
    census: async () => ({ ...reader.operators.census(), bytes: await bytesOf(file.path) }),
    onCommit: (observer) => writer.onCommit(observer),
    get statistics() {
      return writer.statistics;
    },
    async append(request) {
      checkRequest(request);
      return writer.append(request);
    },
    ...reader.methods(["head", "heads", "load", "loadMany", "readSnapshot", "read", "conversation", "findSend"]),
    ...reader.methods(["list", "countOpen", "listInterrupted", "leasesOf"]),
    saveSnapshot: async (request) => writer.saveSnapshot(request),
    async claimLeases(request) {
      if (claimable?.every((holder) => reader.call("leasesOf", { holder, after: "", limit: 1 }).length === 0))
        return [];
      return writer.call("claimLeases", request);
    },
    async heartbeat(request) {
      // If no other process can have the file, heartbeats are not needed.
      if (!shared) return true;
      onHeartbeat?.(request, files);
      return writer.call("heartbeat", request);
    },
    setLease: async (request) => writer.call("setLease", request),
    removeFinished: async (request) => removeFinished(writer, request),
    ...operatorStoreOf(reader, writer),
    ...pushStoreOf(reader, writer),
    async backup(request) {
      if (closed !== undefined) throw new StoreError("closed", "The store is closed.");
      backups ??= loadBackups();
      return (await backups).make(request);
    },
    close: () => (closed ??= close()),
  };
}

function operatorStoreOf({ operators }: Reader, writer: WriterClient): OperatorStore {
  return {
    listHeads: async (request) => operators.listHeads(request),
    listContexts: async (request) => operators.listContexts(request),
    listOwners: async (request) => operators.listOwners(request),
    listLeased: async (request) => operators.listLeased(request),
    removeTasks: async (request) => removeTasks(writer, request),
  };
}

/** Size of the database, its log and its index, in bytes. */
async function bytesOf(path: string): Promise<number> {
  const sizes = ["", "-wal", "-shm"].map((end) =>
    stat(path + end)
      .then(({ size }) => size)
      .catch(() => 0),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** The push part of the store: changes go to the writer, reads run here. */
function pushStoreOf(reader: Reader, writer: WriterClient): PushStore {
  return {
    ...reader.methods(["getPushConfig", "listPushConfigs", "scanPushConfigs"]),
    ...reader.methods(["listDeadDeliveries", "listDeliveries", "listAttempts"]),
    async putPushConfig(request) {
      // Copied, because a transfer moves the whole buffer of a view.
      return writer.call("putPushConfig", { ...request, bytes: new Uint8Array(request.bytes) });
    },
    async rewritePushConfig({ taskId, configId, from, to }) {
      const request = { taskId, configId, from: new Uint8Array(from), to: new Uint8Array(to) };
      return writer.call("rewritePushConfig", request);
    },
    deletePushConfig: async (request) => writer.call("deletePushConfig", request),
    // A read finds out first if anything is due, which saves a write.
    claimDeliveries: async (request) =>
      reader.call("mayClaimDeliveries", request) ? claimedOf(await writer.call("claimDeliveries", request)) : [],
    nextDelivery: async () => reader.call("nextDelivery", Number.MIN_SAFE_INTEGER),
    async rescheduleDeliveries(request) {
      let count = 0;
      while (reader.call("hasDeliveryAfter", request.latest)) {
        const rescheduled = await writer.call("rescheduleDeliveries", request);
        count += rescheduled;
        // Another process was faster, or the limit of one step was reached.
        if (rescheduled < RESCHEDULE_STEP) break;
      }
      return count;
    },
    savePushPosition: async (request) => writer.call("savePushPosition", request),
    completeDelivery: async (request) => writer.complete(request),
    async redriveDeliveries({ now, keys, ...filter }) {
      const listDead = (after: PushConfigKey | undefined, limit: number): DeadDelivery[] =>
        reader.call("listDeadDeliveries", { ...filter, limit, ...(after && { after }) });
      const redrive = (step: readonly PushConfigKey[]): Promise<number> =>
        writer.call("redriveDeliveries", { now, keys: step });
      return redriveInSteps({ listDead, redrive }, keys);
    },
  };
}

/** Tasks that one transaction removes, so that appends wait only briefly. */
const REMOVAL_STEP = 64;

/** Steps by which one removal shrinks the file, 1 MiB each; later removals continue. */
const SHRINKING_STEPS = 64;

/** Removes the oldest finished tasks, one transaction per step. Returns their number. */
async function removeFinished(
  writer: WriterClient,
  { before, limit }: WriteRequest<"removeFinished">,
): Promise<number> {
  let removed = 0;
  for (let shrinking = 0; ; ) {
    const step = Math.min(REMOVAL_STEP, limit - removed);
    const found = await writer.call("removeFinished", { before, limit: step });
    removed += found.removed;
    if (found.more || (found.removed === step && removed < limit)) continue;
    if (!found.spare || shrinking++ === SHRINKING_STEPS) return removed;
  }
}

/** Removes named tasks, one transaction per step. Returns their number. */
async function removeTasks(writer: WriterClient, request: WriteRequest<"removeTasks">): Promise<number> {
  const { unfinished } = request;
  const taskIds = [...new Set(request.taskIds)];
  let removed = 0;
  for (let shrinking = 0; ; ) {
    const step: RemovalStep = await writer.call("removeTasks", {
      taskIds: taskIds.slice(0, REMOVAL_STEP),
      unfinished,
    });
    removed += step.removed;
    // Garbage comes first: the step may have removed none of its tasks.
    if (step.more) continue;
    taskIds.splice(0, REMOVAL_STEP);
    if (taskIds.length > 0) continue;
    if (!step.spare || shrinking++ === SHRINKING_STEPS) return removed;
  }
}
