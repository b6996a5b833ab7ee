import { redriveInSteps } from "../redrive.js";
import type { DeadDelivery, PushConfigKey, PushStore } from "../task-store.js";
import { RESCHEDULE_STEP } from "./push-configs.js";
import { claimedOf } from "./push-rows.js";
import type { Reader } from "./reader.js";
import type { WriterClient } from "./writer-client.js";

/** The push part of the store: changes go to the writer, reads run here. */
export function pushStoreOf(reader: Reader, writer: WriterClient): PushStore {
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
    settleDelivery: async (request) => writer.settle(request),
    async redriveDeliveries({ now, keys, ...filter }) {
      const listDead = (after: PushConfigKey | undefined, limit: number): DeadDelivery[] =>
        reader.call("listDeadDeliveries", { ...filter, limit, ...(after && { after }) });
      const redrive = (step: readonly PushConfigKey[]): Promise<number> =>
        writer.call("redriveDeliveries", { now, keys: step });
      return redriveInSteps({ listDead, redrive }, keys);
    },
  };
}
