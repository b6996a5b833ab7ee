import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type ReactNode, useState } from "react";
import { contentWords } from "../texts/content.js";
import { Button, CopyText, css as ui } from "../ui/parts.js";
import css from "./content.module.css";
import { JsonTree } from "./json-tree.js";
import { TableBox } from "./scroll-box.js";

/** Rows of a table that are shown at first, with each click as many more, and the most columns. */
const ROWS = 50;
const MAX_COLUMNS = 24;

/** Data: a list of alike objects as a table, all other as a tree. */
export function JsonView({ value }: { readonly value: JsonValue }): ReactNode {
  const columns = columnsOf(value);
  const [isTree, setTree] = useState(columns === undefined);
  return (
    <div className={css.data}>
      <div className={css.dataHead}>
        <span className={`${ui.soft} ${ui.small}`}>{sizeText(value)}</span>
        {columns !== undefined && (
          <div className={ui.row}>
            <Button kind="plain" aria-pressed={!isTree} onClick={() => setTree(false)}>
              {contentWords.asTable}
            </Button>
            <Button kind="plain" aria-pressed={isTree} onClick={() => setTree(true)}>
              {contentWords.asTree}
            </Button>
          </div>
        )}
        <CopyJson value={value} />
      </div>
      {columns === undefined || isTree ? (
        <JsonTree value={value} />
      ) : (
        <Table rows={value as JsonObject[]} columns={columns} />
      )}
    </div>
  );
}

/** Copies the data as JSON, unless it is too deep or too large for a text. */
function CopyJson({ value }: { readonly value: JsonValue }): ReactNode {
  const [text, setText] = useState<string>();
  if (text === undefined) {
    return (
      <Button kind="plain" onClick={() => setText(JSON.stringify(value, undefined, 2))}>
        {contentWords.json}
      </Button>
    );
  }
  return <CopyText text={text} shown={contentWords.json} label={contentWords.json} />;
}

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the columns of a list of objects without further objects in them; undefined for other data. */
function columnsOf(value: JsonValue): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const columns = new Set<string>();
  for (const row of value) {
    if (!isObject(row)) return undefined;
    for (const [name, cell] of Object.entries(row)) {
      if (typeof cell === "object" && cell !== null) return undefined;
      columns.add(name);
      if (columns.size > MAX_COLUMNS) return undefined;
    }
  }
  return columns.size === 0 ? undefined : [...columns];
}

function Table({
  rows,
  columns,
}: {
  readonly rows: readonly JsonObject[];
  readonly columns: readonly string[];
}): ReactNode {
  const [limit, setLimit] = useState(ROWS);
  return (
    <>
      <TableBox className={css.tableBox}>
        <table className={ui.table}>
          <thead>
            <tr>
              {columns.map((name) => (
                <th key={name} scope="col">
                  {name.slice(0, 80)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, limit).map((row, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity.
              <tr key={at}>
                {columns.map((name) => (
                  <td key={name} className={typeof row[name] === "number" ? css.number : undefined}>
                    {jsonCellText(row[name])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </TableBox>
      {rows.length > limit && (
        <div className={css.more}>
          <Button onClick={() => setLimit(limit * 4)}>{contentWords.showItems(rows.length - limit)}</Button>
        </div>
      )}
    </>
  );
}

const jsonCellText = (cell: JsonValue | undefined): string => String(cell ?? "").slice(0, 500);

function sizeText(value: JsonValue): string {
  if (Array.isArray(value)) return contentWords.elements(value.length);
  return isObject(value) ? contentWords.members(Object.keys(value).length) : contentWords.data;
}
