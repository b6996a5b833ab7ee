import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { words } from "../texts/words.js";
import { classes } from "./parts.js";
import css from "./rows.module.css";

/** A column of a list. */
export interface Column<Row> {
  readonly name: string;
  /** Width in CSS, such as `minmax(0, 2fr)` or `120px`. */
  readonly width: string;
  /** True if narrow screens leave it out. */
  readonly minor?: boolean;
  readonly cell: (row: Row) => ReactNode;
}

interface RowsProps<Row> {
  /** Name of the list, for readers of the screen. */
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** Opens a row, by a click or Enter. */
  readonly onOpen?: (row: Row) => void;
  /** Key of the row that is open. */
  readonly current?: string | undefined;
  /** Loads the next page; undefined after the last. */
  readonly onEnd?: (() => void) | undefined;
  readonly isLoading?: boolean;
  /** Height of the list in CSS. Default: what the page leaves. */
  readonly height?: string;
  /** True to stay at the last row while rows are added. */
  readonly followsEnd?: boolean;
}

/**
 * A list of any length, of which only the rows in view exist. `j` and `k` or the arrow keys move, Enter opens. The
 * grid has one stop of the Tab key and names the active row. It is not a table element, whose rows all exist.
 */
export function Rows<Row>(props: RowsProps<Row>): ReactNode {
  const { label, rows, columns, keyOf, onOpen, onEnd, isLoading = false, followsEnd = false } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState(0);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => 41,
    overscan: 12,
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined ? index : keyOf(row);
    },
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (onEnd !== undefined && !isLoading && last >= rows.length - 20) onEnd();
  }, [onEnd, isLoading, last, rows.length]);
  useEffect(() => {
    if (followsEnd && rows.length > 0) virtual.scrollToIndex(rows.length - 1, { align: "end" });
  }, [followsEnd, rows.length, virtual]);
  const move = (by: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, at + by));
    setAt(next);
    virtual.scrollToIndex(next);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target !== scroll.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = keys[event.key];
    const row = rows[at];
    if (act !== undefined) move(act === "first" ? -rows.length : act === "last" ? rows.length : act);
    else if (event.key === "Enter" && row !== undefined) onOpen?.(row);
    else return;
    event.preventDefault();
  };
  const id = (index: number): string => `${label}-${index}`.replaceAll(/\s/g, "-");
  const style = {
    "--columns": columns.map(({ width }) => width).join(" "),
    ...(props.height && { "--rows-height": props.height }),
  };
  return (
    <div className={css.box} style={style as CSSProperties}>
      <div
        ref={scroll}
        className={css.scroll}
        role="grid"
        aria-label={label}
        aria-rowcount={onEnd === undefined ? rows.length + 1 : -1}
        aria-activedescendant={items.some(({ index }) => index === at) ? id(at) : undefined}
        tabIndex={0}
        data-rows=""
        onKeyDown={onKeyDown}
      >
        <div className={css.head} role="row">
          {columns.map(({ name, minor }) => (
            <div key={name} role="columnheader" className={classes(css.cell, minor && css.minor)}>
              {name}
            </div>
          ))}
        </div>
        <div className={css.body} role="rowgroup" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start, key }) => {
            const row = rows[index];
            if (row === undefined) return undefined;
            const isCurrent = props.current === keyOf(row);
            return (
              <div
                key={key}
                id={id(index)}
                ref={virtual.measureElement}
                data-index={index}
                className={css.row}
                role="row"
                aria-rowindex={index + 2}
                aria-selected={isCurrent}
                data-current={isCurrent || index === at ? "" : undefined}
                data-open={onOpen && ""}
                style={{ transform: `translateY(${start}px)` }}
                onClick={(event) => {
                  setAt(index);
                  // A link or button in the row, or selected text, is not for the row.
                  if (!(event.target as Element).closest("a,button,input") && getSelection()?.isCollapsed !== false)
                    onOpen?.(row);
                }}
              >
                {columns.map(({ name, minor, cell }) => (
                  <div key={name} role="gridcell" className={classes(css.cell, minor && css.minor)}>
                    {cell(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
        {isLoading && (
          <p className={css.end} role="status">
            {words.loading}
          </p>
        )}
      </div>
    </div>
  );
}

const keys: Partial<Record<string, number | "first" | "last">> = {
  ...{ j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, PageDown: 15, PageUp: -15 },
  ...{ Home: "first", End: "last" },
};
