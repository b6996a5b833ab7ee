import type { Command } from "commander";
import type { FileReport } from "../../store/sqlite/check.js";
import { StoreError } from "../../store/task-store.js";
import { CommandError } from "../command-error.js";
import type { Io } from "../io.js";
import { printable } from "../log.js";
import { lookOf, paint } from "../look.js";
import { facts } from "../table.js";
import { bytes } from "./format.js";
import { OutputClosed, print } from "./io.js";

const help = `
It reads the whole file: SQLite's integrity check, references between tables, the digest of a backup, and each task's log, which
must decode and lead to the stored state. It changes nothing, and a server may have the file open. Exit code 0: no fault;
1: faults; 2: not a file of Parley.
`;

/** Adds `parley check`. */
export function add(check: Command, io: Io): void {
  check
    .argument("<file>", "the SQLite file with the tasks")
    .option("--json", "one JSON object", false)
    .addHelpText("after", help)
    .action((file: string, flags: { readonly json: boolean }) => run(file, flags, io));
}

async function run(file: string, { json }: { readonly json: boolean }, io: Io): Promise<void> {
  const report = await reportOf(file);
  try {
    await print(io, json ? `${JSON.stringify(report)}\n` : `${linesOf(report, io).join("\n")}\n`);
  } catch (error) {
    if (!(error instanceof OutputClosed)) throw error;
  }
  const count = report.faults.length;
  if (count > 0) {
    const some = count === 1 ? "1 fault" : `${count} faults`;
    throw new CommandError("failed", `${file} has ${some}. A backup from before them helps (parley restore)`);
  }
}

type Report = Partial<FileReport> & Pick<FileReport, "path" | "faults">;

/** The facts that can be read from a file, even a damaged one. */
async function reportOf(file: string): Promise<Report> {
  // Only a check needs the parts of a store.
  const { checkFile } = await import("../../store/sqlite/check.js");
  try {
    return await checkFile(file);
  } catch (error) {
    if (error instanceof StoreError && error.kind === "damaged") return { path: file, faults: [error.message] };
    throw error;
  }
}

function linesOf(report: Report, io: Io): string[] {
  const look = lookOf(io.stdout);
  const { path, schema, isCurrent, tasks, openTasks, entries, pushConfigs, faults } = report;
  const older = isCurrent === false ? ", older than this program: its logs were not read" : "";
  const counts = facts(
    [
      ["File", path],
      ["Size", report.bytes === undefined ? "" : bytes(report.bytes)],
      ["Schema", schema === undefined ? "" : `${schema}${older}`],
      ["Tasks", tasks === undefined || older !== "" ? "" : `${tasks}, of which ${openTasks} have not ended`],
      ["Entries", entries === undefined || older !== "" ? "" : `${entries}`],
      ["Push", pushConfigs === undefined || older !== "" ? "" : `${pushConfigs} configurations`],
    ],
    look,
  );
  if (faults.length === 0) return [...counts, paint("no faults", "green", look)];
  return [...counts, ...faults.map((fault) => paint(printable(fault), "red", look))];
}
