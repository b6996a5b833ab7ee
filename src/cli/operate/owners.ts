import type { Command } from "commander";
import { given } from "../../core/options.js";
import type { Io } from "../io.js";
import type { Column } from "../table.js";
import { age } from "./format.js";
import { confirm } from "./io.js";
import { addLimit, addReach, addYes } from "./options.js";
import { methods, printAnswer, printList } from "./responses.js";
import type { ReachFlags } from "./service.js";

/** Adds `parley owners …`. */
export function add(owners: Command, io: Io): void {
  const list = owners
    .command("list")
    .description("list owners with their usage")
    .option("--tenant <tenant>", "only those of a tenant");
  addLimit(addReach(list)).action((flags: OwnerFlags) => listOwners(flags, io));
  const remove = owners
    .command("delete")
    .description("cancel the tasks of an owner, and delete all of its data")
    .argument("<owner>", 'the owner; "" for anonymous callers')
    .option("--tenant <tenant>", "only the data in a tenant (default: in all tenants)");
  addYes(addReach(remove, { writes: true, isLong: true })).action((owner: string, flags: OwnerFlags) =>
    deleteOwner(owner, flags, io),
  );
}

const columns: readonly Column[] = [
  { title: "OWNER", min: 8 },
  { title: "TASKS", right: true },
  { title: "OPEN", right: true },
  { title: "PUSH", right: true },
  { title: "AGE", right: true },
  { title: "TENANT", min: 6 },
];

interface OwnerFlags extends ReachFlags {
  readonly tenant?: string;
  readonly limit: number;
  readonly yes: boolean;
}

function listOwners(flags: OwnerFlags, io: Io): Promise<void> {
  return printList(io, flags, methods.listOwners, {
    request: given({ tenant: flags.tenant }),
    items: "owners",
    limit: flags.limit,
    columns,
    row: ({ owner, tenant, tasks, openTasks, pushConfigs, statusTime }) => {
      const name = owner === "" ? "(anonymous)" : owner;
      return [name, `${tasks}`, `${openTasks}`, `${pushConfigs}`, age(statusTime), tenant];
    },
    none: "there are no owners",
  });
}

async function deleteOwner(owner: string, flags: OwnerFlags, io: Io): Promise<void> {
  const { tenant } = flags;
  const where = tenant === undefined ? "in all tenants" : `in the tenant ${JSON.stringify(tenant)}`;
  await confirm(io, `delete everything of the owner ${JSON.stringify(owner)} ${where}`, flags);
  await printAnswer(io, flags, methods.deleteOwner, { owner, ...given({ tenant }) }, ({ tasks, remaining }) => [
    `${tasks} tasks deleted, ${remaining} remaining`,
  ]);
}
