import type { Command } from "commander";
import { DeleteOwnerResponseSchema, ListOwnersResponseSchema } from "../../../gen/parley/admin/v1/admin_pb.js";
import type { Io } from "../io.js";
import type { Column } from "../table.js";
import { age } from "./format.js";
import { confirm } from "./io.js";
import { printAnswer, printList } from "./lists.js";
import { addLimit, addReach, addYes } from "./options.js";
import { readPages } from "./pages.js";
import { type ReachFlags, withService } from "./service.js";

/** Adds `parley owners …`. */
export function add(owners: Command, io: Io): void {
  const list = owners
    .command("list")
    .description("list owners, with what they use")
    .option("--tenant <tenant>", "only those of a tenant");
  addLimit(addReach(list)).action((flags: ListFlags) => listOwners(flags, io));
  const remove = owners
    .command("delete")
    .description("cancel what an owner runs, and delete all that it has")
    .argument("<owner>", 'the owner; "" for anonymous callers')
    .option("--tenant <tenant>", "only what it has in a tenant (default: in all)");
  addYes(addReach(remove, { writes: true, isLong: true })).action((owner: string, flags: DeleteFlags) =>
    deleteOwner(owner, flags, io),
  );
}

interface ListFlags extends ReachFlags {
  readonly tenant?: string;
  readonly limit: number;
}

const columns: readonly Column[] = [
  { title: "OWNER", min: 8 },
  { title: "TASKS", right: true },
  { title: "OPEN", right: true },
  { title: "PUSH", right: true },
  { title: "AGE", right: true },
  { title: "TENANT", min: 6 },
];

function listOwners(flags: ListFlags, io: Io): Promise<void> {
  const { tenant, limit } = flags;
  return withService(flags, io, async (client) => {
    const read = (page: object): ReturnType<typeof client.listOwners> =>
      client.listOwners({ ...page, ...(tenant !== undefined && { tenant }) });
    const { items, nextPageToken } = await readPages(limit, read, ({ owners }) => owners);
    await printList(io, flags, {
      ...{ schema: ListOwnersResponseSchema, answer: { owners: items, nextPageToken }, items, nextPageToken },
      ...{ columns, none: "there are no owners" },
      row: (each) => {
        const { owner, tasks, openTasks, pushConfigs, statusTime } = each;
        const name = owner === "" ? "(anonymous)" : owner;
        return [name, `${tasks}`, `${openTasks}`, `${pushConfigs}`, age(statusTime), each.tenant];
      },
    });
  });
}

interface DeleteFlags extends ReachFlags {
  readonly tenant?: string;
  readonly yes: boolean;
}

async function deleteOwner(owner: string, flags: DeleteFlags, io: Io): Promise<void> {
  const { tenant } = flags;
  const where = tenant === undefined ? "in all tenants" : `in the tenant ${JSON.stringify(tenant)}`;
  await confirm(io, `delete everything of the owner ${JSON.stringify(owner)} ${where}`, flags);
  await withService(flags, io, async (client) => {
    const request = { owner, ...(tenant !== undefined && { tenant }) };
    const answer = await client.deleteOwner(request);
    await printAnswer(io, flags, DeleteOwnerResponseSchema, answer, () => [
      `${answer.tasks} tasks deleted, ${answer.remaining} remaining`,
    ]);
  });
}
