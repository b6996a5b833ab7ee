import { toJson } from "@bufbuild/protobuf";
import type { Command } from "commander";
import {
  type Attempt,
  type Delivery,
  DeliverySchema,
  type DeliveryState,
  ListAttemptsResponseSchema,
  RedriveDeliveriesResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import { given } from "../../core/options.js";
import { CommandError, UsageError } from "../command-error.js";
import type { Io } from "../io.js";
import { type Look, lookOf } from "../look.js";
import { type Cell, type Column, facts, table } from "../table.js";
import { deliveryColumns, deliveryRow, deliveryState, deliveryStateOption } from "./delivery-rows.js";
import { jsonLine, moment } from "./format.js";
import { confirm, print } from "./io.js";
import { addLimit, addReach, addYes, position } from "./options.js";
import { methods, printAnswer, printList, readPages } from "./responses.js";
import { type ReachFlags, withService } from "./service.js";

/** Adds `parley push …`. */
export function add(push: Command, io: Io): void {
  const list = push
    .command("list")
    .description("list push configurations with the state of their deliveries")
    .option("--state <state>", "only idle, due or dead ones; may be given again", deliveryStateOption)
    .option("--task <task>", "only those of a task")
    .option("--target <origin>", "only those of a receiver, such as https://hooks.example")
    .option("--tenant <tenant>", "only those of a tenant")
    .option("--owner <owner>", "only those of an owner");
  addLimit(addReach(list)).action((flags: ListFlags) => listDeliveries(flags, io));
  const one = (name: string, description: string): Command =>
    push.command(name).description(description).argument("<task>").argument("<config>");
  addReach(one("show", "show a push configuration and the latest attempts")).action(
    (taskId: string, configId: string, flags: ReachFlags) => show({ taskId, configId }, flags, io),
  );
  addReach(one("test", "send a test event at once"), { file: false }).action(
    (taskId: string, configId: string, flags: ReachFlags) =>
      printAnswer(io, flags, methods.sendTestEvent, { taskId, configId }, (sent) => sentLines(sent, io), checkSent),
  );
  const resend = one("resend", "send a delivered event again, at once").argument("<generation>", "", position);
  addReach(resend, { file: false }).action(
    (taskId: string, configId: string, generation: number, flags: ReachFlags) => {
      const event = { taskId, configId, generation };
      return printAnswer(io, flags, methods.resendEvent, event, (sent) => sentLines(sent, io), checkSent);
    },
  );
  addRedrive(push, io);
}

function addRedrive(push: Command, io: Io): void {
  const redrive = push
    .command("redrive")
    .description("resume deliveries at once: the dead and waiting ones of a task, or all dead ones")
    .option("--task <task>", "only those of a task")
    .option("--config <config>", "only this one of the task")
    .option("--all", "all, or those that the options below name", false)
    .option("--target <origin>", "of all: only those of a receiver")
    .option("--tenant <tenant>", "of all: only those of a tenant")
    .option("--owner <owner>", "of all: only those of an owner");
  addYes(addReach(redrive, { writes: true })).action((flags: RedriveFlags) => redriveAll(flags, io));
}

interface FilterFlags extends ReachFlags {
  readonly task?: string;
  readonly target?: string;
  readonly tenant?: string;
  readonly owner?: string;
}

interface ListFlags extends FilterFlags {
  readonly state?: DeliveryState[];
  readonly limit: number;
}

function listDeliveries(flags: ListFlags, io: Io): Promise<void> {
  const { state: states = [], task: taskId = "", target = "", tenant, owner, limit } = flags;
  return printList(io, flags, methods.listDeliveries, {
    request: { states, taskId, target, ...given({ tenant, owner }) },
    items: "deliveries",
    limit,
    columns: deliveryColumns,
    row: deliveryRow,
    none: "no push configuration matches",
  });
}

/** Prints a configuration and its attempts; with `--json` one object with `delivery` and `attempts`. */
function show(key: { readonly taskId: string; readonly configId: string }, flags: ReachFlags, io: Io): Promise<void> {
  return withService(flags, io, async (client) => {
    const answer = await client.listAttempts(key);
    const { all } = await readPages(client, methods.listDeliveries, "deliveries", {
      request: { taskId: key.taskId },
      limit: Number.POSITIVE_INFINITY,
    });
    const delivery = all.find(({ configId }) => configId === key.configId);
    if (flags.json) {
      const known = delivery && { delivery: toJson(DeliverySchema, delivery) };
      const { attempts } = toJson(ListAttemptsResponseSchema, answer) as { readonly attempts?: unknown };
      return print(io, `${JSON.stringify({ ...known, attempts: attempts ?? [] })}\n`);
    }
    const look = lookOf(io.stdout);
    const lines = delivery === undefined ? [] : facts(deliveryFacts(delivery), look);
    if (answer.attempts.length > 0) lines.push("", ...attemptLines(answer.attempts, look));
    await print(io, `${lines.join("\n")}\n`);
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

const attemptLines = (attempts: readonly Attempt[], look: Look): string[] =>
  table(columns, attempts.map(attemptRow), look);

function attemptRow({ time, generation, status, durationMs, failure, answer, byOperator }: Attempt): Cell[] {
  const result: Cell = failure === "" ? { text: "delivered", colour: "green" } : { text: failure, colour: "red" };
  const event = generation === 0 && byOperator ? "test" : `${generation}`;
  return [moment(time), event, status === 0 ? "" : `${status}`, `${durationMs}`, result, answer];
}

/** An event that was sent at once. */
interface Sent {
  readonly attempt?: Attempt | undefined;
}

function sentLines({ attempt }: Sent, io: Io): string[] {
  return attempt === undefined ? [] : attemptLines([attempt], lookOf(io.stdout));
}

/** @throws CommandError if the receiver did not accept the event */
function checkSent({ attempt }: Sent): void {
  if (attempt !== undefined && attempt.failure !== "")
    throw new CommandError("failed", "the receiver did not accept the event");
}

interface RedriveFlags extends FilterFlags {
  readonly config?: string;
  readonly all: boolean;
  readonly yes: boolean;
}

/** Prints the number of configurations. */
async function redriveAll(flags: RedriveFlags, io: Io): Promise<void> {
  const { task, config, all, target = "", tenant, owner } = flags;
  const isFiltered = target !== "" || tenant !== undefined || owner !== undefined;
  if (all === (task !== undefined)) throw new UsageError("give --task, or --all for all of them");
  if (config !== undefined && task === undefined) {
    throw new UsageError("--config needs the --task that it belongs to");
  }
  if (isFiltered && !all) throw new UsageError("--target, --tenant and --owner belong to --all");
  if (all) await confirm(io, isFiltered ? "redrive all that match" : "redrive all dead deliveries", flags);
  if (task === undefined) {
    const filter = { target, ...given({ tenant, owner }) };
    await printAnswer(io, flags, methods.redriveDeliveries, filter, ({ count }) => [`${count}`]);
    return;
  }
  await withService(flags, io, async (client) => {
    const request = { taskId: task };
    const known = await readPages(client, methods.listDeliveries, "deliveries", { request, limit: MAX_KEYS });
    const keys = known.all
      .filter(({ configId }) => config === undefined || configId === config)
      .map(({ taskId, configId }) => ({ taskId, configId }));
    // Without keys, all configurations would be redriven.
    if (keys.length === 0) throw new CommandError("failed", notFound(config));
    const answer = await client.redriveDeliveries({ keys });
    await print(io, flags.json ? jsonLine(RedriveDeliveriesResponseSchema, answer) : `${answer.count}\n`);
  });
}

const notFound = (config: string | undefined): string =>
  config === undefined
    ? "the task does not exist or has no push configurations"
    : "the task does not exist or has no push configuration of this id";

/** The most keys of one call. A task has far fewer configurations. */
const MAX_KEYS = 1_000;
