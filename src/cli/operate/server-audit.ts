import { type AuditRecord, ListAuditRecordsResponseSchema } from "../../../gen/parley/admin/v1/admin_pb.js";
import type { Io } from "../io.js";
import type { Cell, Column } from "../table.js";
import { moment } from "./format.js";
import { printList } from "./lists.js";
import { readPages } from "./pages.js";
import { type ReachFlags, withService } from "./service.js";

/** Flags of `parley server audit`. */
export interface AuditFlags extends ReachFlags {
  readonly limit: number;
  readonly event?: readonly string[];
  readonly outcome?: readonly string[];
  readonly owner?: string;
}

/** Adds a value to those that were given before. */
export function added(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

const columns: readonly Column[] = [
  { title: "TIME" },
  { title: "EVENT" },
  { title: "OUTCOME" },
  { title: "WHO", min: 6 },
  { title: "METHOD", min: 6 },
  { title: "WHY", min: 6 },
  { title: "WHAT", min: 8 },
  { title: "COUNT", right: true },
];

function row(record: AuditRecord): Cell[] {
  const { at, event, outcome, owner, operator, address, method, reason, limit, taskId, target, count } = record;
  const who = [operator || owner, address].filter((each) => each !== "").join(" ");
  return [
    moment(at),
    event,
    { text: outcome, colour: outcome === "success" ? undefined : "yellow" },
    who,
    method,
    [reason, limit].filter((each) => each !== "").join(" "),
    target === "" ? taskId : target,
    count === 0n ? "" : `${count}`,
  ];
}

/** `parley server audit`. */
export function audit({ limit, event = [], outcome = [], owner, ...flags }: AuditFlags, io: Io): Promise<void> {
  return withService(flags, io, async (client) => {
    const filters = { events: [...event], outcomes: [...outcome], ...(owner !== undefined && { owner }) };
    const read = (page: object): ReturnType<typeof client.listAuditRecords> =>
      client.listAuditRecords({ ...filters, ...page });
    const { items, nextPageToken } = await readPages(limit, read, (page) => page.records);
    await printList(io, flags, {
      ...{ schema: ListAuditRecordsResponseSchema, answer: { records: items, nextPageToken }, items, nextPageToken },
      ...{ columns, row, none: "no record matches" },
    });
  });
}
