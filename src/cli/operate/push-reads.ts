import { toJson } from "@bufbuild/protobuf";
import {
  type Attempt,
  type Delivery,
  DeliverySchema,
  type DeliveryState,
  ListAttemptsResponseSchema,
  ListDeliveriesResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import type { Io } from "../io.js";
import { type Look, lookOf } from "../look.js";
import { type Cell, type Column, facts, table } from "../table.js";
import { deliveryColumns, deliveryRow, deliveryState } from "./delivery-rows.js";
import { moment } from "./format.js";
import { print } from "./io.js";
import { printList } from "./lists.js";
import { readPages } from "./pages.js";
import { type ReachFlags, type Service, withService } from "./service.js";

/** A push configuration. */
export interface ConfigKey {
  readonly taskId: string;
  readonly configId: string;
}

/** Flags of `parley push list`. */
export interface ListFlags extends ReachFlags {
  readonly state?: DeliveryState[];
  readonly task?: string;
  readonly target?: string;
  readonly tenant?: string;
  readonly owner?: string;
  readonly limit: number;
}

/** `parley push list`. */
export function list(flags: ListFlags, io: Io): Promise<void> {
  const { state: states = [], task: taskId = "", target = "", tenant, owner, limit } = flags;
  const names = { ...(tenant !== undefined && { tenant }), ...(owner !== undefined && { owner }) };
  return withService(flags, io, async (client) => {
    const filter = { states, taskId, target, ...names };
    const { items, nextPageToken } = await deliveries(client, filter, limit);
    await printList(io, flags, {
      ...{ schema: ListDeliveriesResponseSchema, answer: { deliveries: items, nextPageToken }, items, nextPageToken },
      ...{ columns: deliveryColumns, row: deliveryRow, none: "no push configuration matches" },
    });
  });
}

/** Reads deliveries up to a limit. */
export function deliveries(
  client: Service["client"],
  filter: Parameters<Service["client"]["listDeliveries"]>[0],
  limit: number,
): Promise<{ readonly items: Delivery[]; readonly nextPageToken: string }> {
  const read = (page: object): ReturnType<typeof client.listDeliveries> =>
    client.listDeliveries({ ...filter, ...page });
  return readPages(limit, read, (page) => page.deliveries);
}

/** Flags of `parley push show`. */
export type ShowFlags = ReachFlags;

/** `parley push show`. With `--json` one object with `delivery` and `attempts`. */
export function show(key: ConfigKey, flags: ShowFlags, io: Io): Promise<void> {
  return withService(flags, io, async (client) => {
    const answer = await client.listAttempts(key);
    const found = await deliveries(client, { taskId: key.taskId }, Number.POSITIVE_INFINITY);
    const delivery = found.items.find(({ configId }) => configId === key.configId);
    if (flags.json) {
      const known = delivery && { delivery: toJson(DeliverySchema, delivery) };
      const { attempts } = toJson(ListAttemptsResponseSchema, answer) as { readonly attempts?: unknown };
      return print(io, `${JSON.stringify({ ...known, attempts: attempts ?? [] })}\n`);
    }
    const look = lookOf(io.stdout);
    const lines = delivery === undefined ? [] : facts(deliveryFacts(delivery), look);
    await print(io, `${[...lines, ...attemptLines(answer.attempts, look)].join("\n")}\n`);
  });
}

function deliveryFacts(delivery: Delivery): Parameters<typeof facts>[0] {
  const { taskId, configId, owner, tenant, target, state, position, headPosition, attempts } = delivery;
  return [
    ["Task", taskId],
    ["Config", configId],
    ["Owner", owner],
    ["Tenant", tenant],
    ["Target", target],
    ["State", deliveryState(state)],
    ["Delivered", `${position} of ${headPosition} entries`],
    ["Failed", attempts === 0 ? "" : `${attempts} times since ${moment(delivery.failingSince)}: ${delivery.failure}`],
    ["At", moment(delivery.at)],
    ["By", delivery.holder],
  ];
}

const columns: readonly Column[] = [
  { title: "TIME" },
  { title: "GENERATION", right: true },
  { title: "STATUS", right: true },
  { title: "MS", right: true },
  { title: "RESULT", min: 8 },
  { title: "ANSWER", min: 8 },
];

/** A table of attempts. */
export function attemptLines(attempts: readonly Attempt[], look: Look): string[] {
  return attempts.length === 0 ? [] : ["", ...table(columns, attempts.map(attemptRow), look)];
}

function attemptRow({ time, generation, status, durationMs, failure, answer, byOperator }: Attempt): Cell[] {
  const result: Cell = failure === "" ? { text: "delivered", colour: "green" } : { text: failure, colour: "red" };
  const event = generation === 0 && byOperator ? "test" : `${generation}`;
  return [moment(time), event, status === 0 ? "" : `${status}`, `${durationMs}`, result, answer];
}
