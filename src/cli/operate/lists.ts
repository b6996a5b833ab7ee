import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import type { Io } from "../io.js";
import { lookOf } from "../look.js";
import { type Cell, type Column, table } from "../table.js";
import { jsonLine } from "./format.js";
import { print, remark } from "./io.js";

/** A list that was read, and how it is shown. */
interface ListText<D extends DescMessage, T> {
  /** The service's answer, which `--json` prints. */
  readonly schema: D;
  readonly answer: MessageInitShape<D>;
  readonly items: readonly T[];
  readonly columns: readonly Column[];
  readonly row: (item: T) => Cell[];
  /** Printed instead of an empty table. */
  readonly none: string;
  readonly nextPageToken?: string;
}

/** Prints a list as a table, or as one JSON object. */
export async function printList<D extends DescMessage, T>(
  io: Io,
  { json }: { readonly json: boolean },
  { schema, answer, items, columns, row, none, nextPageToken = "" }: ListText<D, T>,
): Promise<void> {
  if (json) return print(io, jsonLine(schema, create(schema, answer)));
  if (items.length === 0) remark(io, none);
  else await print(io, `${table(columns, items.map(row), lookOf(io.stdout)).join("\n")}\n`);
  if (nextPageToken !== "") remark(io, "there are more; --limit allows a longer list");
}

/** Prints one answer as JSON, or as lines of text. */
export async function printAnswer<D extends DescMessage>(
  io: Io,
  { json }: { readonly json: boolean },
  schema: D,
  answer: MessageInitShape<D>,
  lines: () => readonly string[],
): Promise<void> {
  await print(
    io,
    json
      ? jsonLine(schema, create(schema, answer))
      : lines()
          .map((line) => `${line}\n`)
          .join(""),
  );
}
