// Keeps tasks in memory, for tests and for runtimes without files.

import { aBoolean, aFunction, assertOptions, type OptionChecks } from "../../core/options.js";
import { localSignals } from "../../signals/hub.js";
import { checkRequest } from "../check.js";
import { alwaysHealthy } from "../health.js";
import { type OperatorStore, type PushStore, StoreError, type TaskStore } from "../task-store.js";
import { Contents } from "./contents.js";
import { listConfigs, listDeliveries, rewrite, scan, toStored } from "./pushes.js";
import type { Usages } from "./task-lists.js";

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /** True when several engines share the store and each may disappear while the others run. Default false. */
  readonly shared?: boolean;
  /** Monotonic milliseconds, used to detect missed heartbeats. Default: `performance.now`. */
  readonly clock?: () => number;
}

const checks: OptionChecks<MemoryStoreOptions> = { shared: aBoolean(), clock: aFunction() };

/** Returns the contents of a store. @throws StoreError `closed` */
type Open = () => Contents;

/**
 * Keeps tasks in this process, for tests and for comparison with durable stores. Each change runs synchronously, without
 * an await between check and change: that is its transaction.
 *
 * @throws TypeError for invalid options
 */
export function memoryStore(options: MemoryStoreOptions = {}): TaskStore {
  assertOptions("memoryStore(options)", options, checks);
  const { shared = false, clock } = options;
  const contents = new Contents(shared, clock);
  let isClosed = false;
  const open: Open = () => {
    if (isClosed) throw new StoreError("closed", "The store is closed.");
    return contents;
  };
  return {
    kind: "memory",
    shared,
    health: alwaysHealthy,
    signals: localSignals(),
    onCommit: () => {},
    census: async () => open().census(),
    async append(request) {
      open();
      checkRequest(request);
      return contents.append(request);
    },
    head: async ({ taskId }) => open().tasks.get(taskId)?.head,
    heads: async ({ taskIds }) => taskIds.flatMap((taskId) => open().tasks.get(taskId)?.head ?? []),
    load: async (request) => open().load(request),
    loadMany: async ({ taskIds }) => taskIds.map((taskId) => open().load({ taskId })),
    readSnapshot: async ({ taskId, position, piece }) => open().tasks.get(taskId)?.log.readSnapshot(position, piece),
    read: async ({ taskId, after, limit }) => open().tasks.get(taskId)?.log.read(after, limit) ?? [],
    saveSnapshot: async ({ taskId, snapshot }) => open().tasks.get(taskId)?.log.saveSnapshot(snapshot),
    list: async (request) => open().lists.list(request),
    countOpen: async (request) => open().lists.countOpen(request),
    listInterrupted: async ({ before, after, limit }) =>
      open()
        .lists.interrupted.olderThan(before, limit, after)
        .map(({ head }) => head),
    conversation: async (key) => open().conversations.get(key),
    findSend: async (key) => open().findSend(key),
    heartbeat: async (request) => open().leases.heartbeat(request),
    claimLeases: async (request) => open().leases.claim(request),
    leasesOf: async (request) => open().leases.of(request),
    setLease: async (request) => open().setLease(request),
    removeFinished: async (request) => open().removeFinished(request),
    ...operatorStoreOf(open),
    ...pushStoreOf(open),
    async close() {
      isClosed = true;
    },
  };
}

function operatorStoreOf(open: Open): OperatorStore {
  const usages: Usages = {
    stateBytes: (context) => open().conversations.sizeOf(context),
    pushConfigs: (owner) => open().pushes.countOf(owner),
  };
  return {
    listHeads: async (request) => open().lists.listHeads(request),
    listContexts: async (request) => open().lists.listContexts(request, usages),
    listOwners: async (request) => open().lists.listOwners(request, usages),
    listLeased: async (request) => open().leases.list(request),
    removeTasks: async (request) => open().removeTasks(request),
  };
}

function pushStoreOf(open: Open): PushStore {
  return {
    putPushConfig: async (request) => open().putPushConfig(request),
    async getPushConfig(key) {
      const config = open().config(key);
      return config && toStored(config);
    },
    listPushConfigs: async (request) => listConfigs(open().tasks.get(request.taskId), request),
    scanPushConfigs: async (request) => scan(open().tasks.values(), request),
    rewritePushConfig: async (request) => rewrite(open().config(request), request),
    async deletePushConfig(key) {
      const config = open().config(key);
      if (config !== undefined) open().pushes.delete(config);
    },
    async claimDeliveries(request) {
      const { leases, pushes } = open();
      for (const expired of leases.evictExpired(request)) pushes.release(expired);
      return pushes.claim(request);
    },
    nextDelivery: async () => open().pushes.next(),
    rescheduleDeliveries: async (request) => open().pushes.reschedule(request),
    savePushPosition: async (request) => (open().pushes.save(open().config(request.key), request) ? "saved" : "lost"),
    async completeDelivery(request) {
      const config = open().config(request.key);
      return open().pushes.save(config, request) ? open().pushes.complete(config, request.outcome) : "lost";
    },
    listDeadDeliveries: async (request) => open().pushes.listDead(request),
    async listDeliveries(request) {
      const { tasks } = open();
      const one = request.taskId === undefined ? undefined : tasks.get(request.taskId);
      return listDeliveries(request.taskId === undefined ? tasks.values() : one === undefined ? [] : [one], request);
    },
    listAttempts: async (key) => [...(open().config(key)?.failed ?? [])],
    async redriveDeliveries({ now, keys, ...filter }) {
      const { pushes } = open();
      const configs = keys?.map((key) => open().config(key)) ?? pushes.dead(filter);
      return configs.filter((config) => config !== undefined && pushes.redrive(config, now)).length;
    },
  };
}
