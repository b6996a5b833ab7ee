import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type Attempt,
  AttemptSchema,
  DeletePushConfigResponseSchema,
  type Delivery,
  DeliverySchema,
  DeliveryState,
  ListAttemptsResponseSchema,
  ListDeliveriesRequestSchema,
  ListDeliveriesResponseSchema,
  RedriveDeliveriesResponseSchema,
  ResendEventResponseSchema,
  SendTestEventResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import { A2AError, invalid } from "../../core/error.js";
import { yieldToEventLoop } from "../../core/event-loop.js";
import { parseUrl } from "../../core/net.js";
import type { Attempt as MadeAttempt } from "../../push/attempt-history.js";
import { createPushOperations, type PushOperations } from "../../push/operations.js";
import type {
  DeliveryPage,
  DeliveryStateName,
  FailedAttempt,
  ListDeliveries,
  PushConfigKey,
  StoredDelivery,
} from "../../store/task-store.js";
import { timestampOf } from "../../task/entry.js";
import { webhookOrigin } from "../../wire/webhook.js";
import { agentName } from "../call-facts.js";
import type { AdminMethods } from "../methods.js";
import { pageOf } from "../page.js";
import type { AdminParts } from "../parts.js";

/** Number of pages of the store that one page of the list reads at most: it may be short although more follow. */
const MAX_STORE_PAGES = 20;

/** Maximum number of attempts in an answer. */
const MAX_ATTEMPTS = 20;

type Names =
  | "listDeliveries"
  | "listAttempts"
  | "redriveDeliveries"
  | "sendTestEvent"
  | "resendEvent"
  | "deletePushConfig";

export function deliveryOperations(parts: AdminParts): Pick<AdminMethods, Names> {
  const { store, pushOperations } = parts;
  const push = pushOperations ?? withoutDispatcher(parts);
  const { holder } = parts.engine.pushes;
  const toAttempt = (attempt: MadeAttempt): Attempt => attemptMessage({ ...attempt, holder });
  const send = async (event: Parameters<typeof push.send>[0]): Promise<Attempt> => {
    if (pushOperations !== undefined) return toAttempt(await push.send(event));
    throw new A2AError("PUSH_NOTIFICATION_NOT_SUPPORTED", "This server sends no push notifications.");
  };
  return {
    async listDeliveries(request) {
      const { limit, after, token } = pageOf(ListDeliveriesRequestSchema, request, ["string", "string"]);
      const { tenant, owner, taskId, target } = request;
      const filter = {
        ...{ tenant, owner, states: request.states.map(stateOf) },
        taskId: taskId === "" ? undefined : taskId,
        target: storedOrigin(target),
      };
      const key = after && { taskId: after[0], configId: after[1] };
      const { deliveries, next } = await readPages(parts, { ...filter, limit, after: key });
      return create(ListDeliveriesResponseSchema, {
        deliveries: deliveries.map(deliveryOf),
        nextPageToken: token(next && [next.taskId, next.configId]),
      });
    },

    async listAttempts(key) {
      await checkConfig(parts, key);
      const stored = (await store.listAttempts(key)).map(attemptMessage);
      const all = [...stored, ...push.attemptsOf(key).map(toAttempt)].sort((a, b) => timeOf(b) - timeOf(a));
      return create(ListAttemptsResponseSchema, { attempts: all.slice(0, MAX_ATTEMPTS) });
    },

    async redriveDeliveries({ keys, tenant, owner, target }, { call }) {
      const isFiltered = tenant !== undefined || owner !== undefined || target !== "";
      if (keys.length > 0 && isFiltered) {
        throw invalid([{ field: "keys", description: "must be empty if there are filters" }]);
      }
      const filter = { tenant, owner, target: storedOrigin(target) };
      const count = await push.redrive(keys.length > 0 ? { keys } : filter, call);
      return create(RedriveDeliveriesResponseSchema, { count: BigInt(count) });
    },

    async sendTestEvent({ taskId, configId }, { call }) {
      const attempt = await send({ taskId, configId, generation: undefined, trace: call });
      return create(SendTestEventResponseSchema, { attempt });
    },

    async resendEvent({ taskId, configId, generation }, { call }) {
      const attempt = await send({ taskId, configId, generation, trace: call });
      return create(ResendEventResponseSchema, { attempt });
    },

    async deletePushConfig(key) {
      await checkConfig(parts, key);
      await store.deletePushConfig({ taskId: key.taskId, configId: key.configId });
      return create(DeletePushConfigResponseSchema);
    },
  };
}

/** The operations of a server that sends no notifications. */
function withoutDispatcher({ store, audit, agents }: AdminParts): PushOperations {
  return createPushOperations(() => undefined, { store, audit, agentName: (tenant) => agentName(agents, tenant) });
}

/** Fills a page, of which the store examines a limited number of configurations at a time. */
async function readPages({ store }: AdminParts, request: ListDeliveries): Promise<DeliveryPage> {
  const deliveries: StoredDelivery[] = [];
  let { after } = request;
  for (let pages = 1; ; pages++) {
    const page = await store.listDeliveries({ ...request, after, limit: request.limit - deliveries.length });
    deliveries.push(...page.deliveries);
    after = page.next;
    if (after === undefined || deliveries.length === request.limit || pages === MAX_STORE_PAGES) {
      return { deliveries, next: after };
    }
    await yieldToEventLoop();
  }
}

/** @throws A2AError TASK_NOT_FOUND for an unknown configuration */
async function checkConfig({ store }: AdminParts, { taskId, configId }: PushConfigKey): Promise<void> {
  if ((await store.getPushConfig({ taskId, configId })) !== undefined) return;
  throw new A2AError("TASK_NOT_FOUND", "The push notification configuration does not exist.");
}

const states: Readonly<Record<DeliveryStateName, DeliveryState>> = {
  idle: DeliveryState.IDLE,
  due: DeliveryState.DUE,
  dead: DeliveryState.DEAD,
};

function stateOf(state: DeliveryState): DeliveryStateName {
  const found = (Object.keys(states) as DeliveryStateName[]).find((name) => states[name] === state);
  if (found === undefined) throw invalid([{ field: "states", description: "has a value that is not a state" }]);
  return found;
}

/** The origin as the store has it, with its port; undefined for an absent filter. */
function storedOrigin(target: string): string | undefined {
  if (target === "") return undefined;
  const url = parseUrl(target);
  return url === undefined || url.host === "" ? target : webhookOrigin(url);
}

/** A delivery as operators see it. The URL's path and query stay out: they may be secrets. */
export function deliveryOf({ state, failingSince, at, holder = "", ...stored }: StoredDelivery): Delivery {
  return create(DeliverySchema, {
    ...stored,
    holder,
    state: states[state],
    ...(failingSince !== undefined && { failingSince: timestampOf(failingSince) }),
    ...(at !== undefined && { at: timestampOf(at) }),
  });
}

function attemptMessage(attempt: FailedAttempt & { readonly byOperator?: boolean }): Attempt {
  return create(AttemptSchema, { ...attempt, time: timestampOf(attempt.time) });
}

const timeOf = ({ time }: Attempt): number => (time === undefined ? 0 : timestampMs(time));
