import type { Command } from "commander";
import type { AuditRecord, Execution, GetServerResponse } from "../../../gen/parley/admin/v1/admin_pb.js";
import { given } from "../../core/options.js";
import type { Io } from "../io.js";
import { lookOf } from "../look.js";
import { type Cell, type Column, facts } from "../table.js";
import { age, bytes, duration, moment, taskColumns, taskRow } from "./format.js";
import { addLimit, addReach, several } from "./options.js";
import { methods, printAnswer, printList } from "./responses.js";
import type { ReachFlags } from "./service.js";

/** Adds `parley server …`. These commands are about a process, so a file cannot answer them. */
export function add(server: Command, io: Io): void {
  const on = (name: string, description: string, isLong = false): Command =>
    addReach(server.command(name).description(description), { file: false, isLong });
  on("show", "show the state of the process and its store").action((flags: ReachFlags) =>
    printAnswer(io, flags, methods.getServer, {}, (answer) => facts(serverFacts(answer), lookOf(io.stdout))),
  );
  addLimit(on("executions", "list what the process executes, and what waits for a slot")).action((flags: ListFlags) =>
    executions(flags, io),
  );
  on("limits", "list the limits, with what each has refused").action((flags: ReachFlags) => limits(flags, io));
  on("log-level", "change the level of the log until the process ends")
    .argument("<level>", "debug, info, warn or error")
    .action((level: string, flags: ReachFlags) =>
      printAnswer(io, flags, methods.setLogLevel, { level }, ({ previous }) => [`${level}, before: ${previous}`]),
    );
  addLimit(on("audit", "list the latest audit records of the process, newest first"))
    .option("--event <event>", "only this event, such as access.denied; may be given again", several)
    .option("--outcome <outcome>", "only success, denied or failure; may be given again", several)
    .option("--owner <owner>", "only those of an owner")
    .action((flags: AuditFlags) => audit(flags, io));
  on("drain", "refuse new calls of the A2A protocol from now on").action((flags: ReachFlags) =>
    printAnswer(io, flags, methods.drain, {}, ({ running }) => [`draining, ${running} running`]),
  );
  on("backup", "copy the store into a new file on the server's machine", true)
    .argument("<name>", "name of the file in the folder of --admin-backups")
    .action((name: string, flags: ReachFlags) =>
      printAnswer(io, flags, methods.createBackup, { name }, (answer) => [
        `${answer.path}: ${answer.bytes} bytes, as of ${moment(answer.time)}`,
      ]),
    );
}

interface ListFlags extends ReachFlags {
  readonly limit: number;
}

export function readinessCell({ readiness, readinessReason }: GetServerResponse): Cell {
  const text = readinessReason === "" ? readiness : `${readiness}: ${readinessReason}`;
  return { text, colour: readiness === "ready" ? "green" : readiness === "unavailable" ? "red" : "yellow" };
}

function serverFacts(server: GetServerResponse): Parameters<typeof facts>[0] {
  const { version, nodeVersion, protocolVersions, agents, started, holder, calls, streams } = server;
  const { running, waiting, leases, interrupted, deliveries, deadDeliveries, store, storeBytes, shared, retentionMs } =
    server;
  const named = agents.map(({ tenant, name, version: of }) => `${tenant === "" ? "" : `${tenant}: `}${name} ${of}`);
  return [
    ["Readiness", readinessCell(server)],
    ["Parley", `${version}, Node.js ${nodeVersion}, A2A ${protocolVersions.join(", ")}`],
    ["Agents", named.join(", ")],
    ["Started", `${moment(started)} (${age(started)} ago)`],
    ["Holder", holder],
    ["Calls", `${calls}, of which ${streams} streams`],
    ["Executions", `${running} running, ${waiting} waiting, ${leases} leases`],
    ["Tasks", `${interrupted} wait for a person`],
    ["Deliveries", `${deliveries} under way, ${deadDeliveries} dead`],
    ["Store", `${store}, ${bytes(storeBytes)}${shared ? ", shared" : ""}`],
    ["Retention", retentionMs === undefined ? "none" : `${duration(Number(retentionMs) / 1_000)} after the end`],
    ["Memory", bytes(server.memoryBytes)],
    ["Log", server.logLevel],
  ];
}

const [idColumn, ...otherColumns] = taskColumns;
const executionColumns: readonly Column[] = [
  { ...idColumn, title: "TASK" },
  { title: "EXECUTION" },
  { title: "FOR", right: true },
  ...otherColumns,
];

function executionRow({ task, running, since }: Execution): Cell[] {
  const [id = "", ...rest] = task === undefined ? [] : taskRow(task);
  return [id, running ? "running" : { text: "waiting", colour: "yellow" }, age(since), ...rest];
}

function executions(flags: ListFlags, io: Io): Promise<void> {
  return printList(io, flags, methods.listExecutions, {
    items: "executions",
    limit: flags.limit,
    columns: executionColumns,
    row: executionRow,
    none: "nothing runs or waits",
  });
}

const limitColumns: readonly Column[] = [
  { title: "LIMIT" },
  { title: "VALUE", right: true },
  { title: "DEFAULT", right: true },
  { title: "REFUSED", right: true },
];

function limits(flags: ReachFlags, io: Io): Promise<void> {
  return printList(io, flags, methods.listLimits, {
    items: "limits",
    limit: Number.POSITIVE_INFINITY,
    columns: limitColumns,
    row: ({ name, value, defaultValue, refused }) => [
      name,
      value === defaultValue ? `${value}` : { text: `${value}`, colour: "bold" },
      `${defaultValue}`,
      refused === 0n ? "0" : { text: `${refused}`, colour: "yellow" },
    ],
    none: "",
  });
}

interface AuditFlags extends ListFlags {
  readonly event?: readonly string[];
  readonly outcome?: readonly string[];
  readonly owner?: string;
}

const auditColumns: readonly Column[] = [
  { title: "TIME" },
  { title: "EVENT" },
  { title: "OUTCOME" },
  { title: "WHO", min: 6 },
  { title: "METHOD", min: 6 },
  { title: "WHY", min: 6 },
  { title: "WHAT", min: 8 },
  { title: "COUNT", right: true },
];

function auditRow(record: AuditRecord): Cell[] {
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

function audit(flags: AuditFlags, io: Io): Promise<void> {
  const { event = [], outcome = [], owner, limit } = flags;
  return printList(io, flags, methods.listAuditRecords, {
    request: { events: [...event], outcomes: [...outcome], ...given({ owner }) },
    items: "records",
    limit,
    columns: auditColumns,
    row: auditRow,
    none: "no record matches",
  });
}
