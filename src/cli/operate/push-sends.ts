import {
  type Attempt,
  DeliveryState,
  RedriveDeliveriesResponseSchema,
  ResendEventResponseSchema,
  SendTestEventResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import { CommandError } from "../command-error.js";
import type { Io } from "../io.js";
import { lookOf } from "../look.js";
import { confirm } from "./io.js";
import { printAnswer } from "./lists.js";
import { attemptLines, type ConfigKey, deliveries } from "./push-reads.js";
import { type ReachFlags, withService } from "./service.js";

/** Flags of `parley push test` and `resend`. */
export type SendFlags = ReachFlags;

/** `parley push test`. It fails if the receiver did not accept the event. */
export function test(key: ConfigKey, flags: SendFlags, io: Io): Promise<void> {
  return withService(flags, io, async (client) => {
    const answer = await client.sendTestEvent(key);
    await printAnswer(io, flags, SendTestEventResponseSchema, answer, () => linesOf(answer.attempt, io));
    check(answer.attempt);
  });
}

/** `parley push resend`. It fails if the receiver did not accept the event. */
export function resend(event: ConfigKey & { readonly generation: number }, flags: SendFlags, io: Io): Promise<void> {
  return withService(flags, io, async (client) => {
    const answer = await client.resendEvent(event);
    await printAnswer(io, flags, ResendEventResponseSchema, answer, () => linesOf(answer.attempt, io));
    check(answer.attempt);
  });
}

function linesOf(attempt: Attempt | undefined, io: Io): string[] {
  return attempt === undefined ? [] : attemptLines([attempt], lookOf(io.stdout)).slice(1);
}

function check(attempt: Attempt | undefined): void {
  if (attempt !== undefined && attempt.failure !== "") {
    throw new CommandError("failed", "the receiver did not accept the event");
  }
}

/** Flags of `parley push redrive`. */
export interface RedriveFlags extends ReachFlags {
  readonly task?: string;
  readonly config?: string;
  readonly all: boolean;
  readonly target?: string;
  readonly tenant?: string;
  readonly owner?: string;
  readonly yes: boolean;
}

/** `parley push redrive`: prints the number of configurations. */
export async function redrive(flags: RedriveFlags, io: Io): Promise<void> {
  const { task, config, all, target = "", tenant, owner } = flags;
  const isFiltered = target !== "" || tenant !== undefined || owner !== undefined;
  if (all === (task !== undefined)) throw new CommandError("usage", "give --task, or --all for all of them");
  if (config !== undefined && task === undefined) {
    throw new CommandError("usage", "--config needs the --task that it belongs to");
  }
  if (isFiltered && !all) throw new CommandError("usage", "--target, --tenant and --owner belong to --all");
  if (all) await confirm(io, isFiltered ? "redrive all that match" : "redrive all dead deliveries", flags);
  await withService(flags, io, async (client) => {
    const names = { ...(tenant !== undefined && { tenant }), ...(owner !== undefined && { owner }) };
    const states = [DeliveryState.DEAD];
    let count = 0n;
    if (task === undefined) ({ count } = await client.redriveDeliveries({ target, ...names }));
    else {
      const dead = await deliveries(client, { taskId: task, states }, MAX_KEYS);
      const keys = dead.items
        .filter(({ configId }) => config === undefined || configId === config)
        .map(({ taskId, configId }) => ({ taskId, configId }));
      // Without keys it would be all.
      if (keys.length > 0) ({ count } = await client.redriveDeliveries({ keys }));
    }
    await printAnswer(io, flags, RedriveDeliveriesResponseSchema, { count }, () => [`${count}`]);
  });
}

/** The most keys of one call. A task has far fewer configurations. */
const MAX_KEYS = 1_000;
