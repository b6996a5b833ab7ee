import type { DeadDelivery, PushConfigKey, PushStore } from "../task-store.js";
import { HASTEN_STEP } from "./push-configs.js";
import { claimedOf } from "./push-rows.js";
import type { Reader } from "./reader.js";
import { redriveInSteps } from "./redrive.js";
import type { WriterClient } from "./writer-client.js";

/** The part of the store that is about push notifications: what changes goes to the writer, all else is read here. */
export function pushStoreOf(reader: Reader, writer: WriterClient): PushStore {
  return {
    getPushConfig: async (key) => reader.getPushConfig(key),
    listPushConfigs: async ({ taskId, after, limit }) => reader.listPushConfigs(taskId, after, limit),
    async putPushConfig(request) {
      // A copy of its own: what crosses to another thread takes all of the memory that it is a view of with it.
      return writer.call("putPushConfig", { ...request, bytes: new Uint8Array(request.bytes) });
    },
    scanPushConfigs: async (request) => reader.scanPushConfigs(request),
    async rewritePushConfig({ taskId, configId, from, to }) {
      const request = { taskId, configId, from: new Uint8Array(from), to: new Uint8Array(to) };
      return writer.call("rewritePushConfig", request);
    },
    deletePushConfig: async (request) => writer.call("deletePushConfig", request),
    // Where nothing is due, looking for it writes nothing.
    claimDeliveries: async (request) =>
      reader.mayClaimDeliveries(request) ? claimedOf(await writer.call("claimDeliveries", request)) : [],
    nextDelivery: async () => reader.nextDelivery(),
    async hastenDeliveries(request) {
      let count = 0;
      while (reader.hasDeliveryAfter(request.latest)) {
        const hastened = await writer.call("hastenDeliveries", request);
        count += hastened;
        // Another process was faster, or more is written than is made sooner.
        if (hastened < HASTEN_STEP) break;
      }
      return count;
    },
    savePushPosition: async (request) => writer.call("savePushPosition", request),
    settleDelivery: async (request) => writer.settle(request),
    listDeadDeliveries: async (request) => reader.listDeadDeliveries(request),
    async redriveDeliveries({ now, keys }) {
      const listDead = (after: PushConfigKey | undefined, limit: number): DeadDelivery[] =>
        reader.listDeadDeliveries({ limit, ...(after && { after }) });
      const redrive = (step: readonly PushConfigKey[]): Promise<number> =>
        writer.call("redriveDeliveries", { now, keys: step });
      return redriveInSteps({ listDead, redrive }, keys);
    },
  };
}
