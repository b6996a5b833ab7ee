import { useVirtualizer } from "@tanstack/react-virtual";
import {
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { words } from "../texts/words.js";
import { classes, css as ui } from "./parts.js";
import css from "./rows.module.css";

/** A column of a list. */
export interface Column<Row> {
  readonly name: string;
  /** Width in CSS, such as `minmax(0, 2fr)` or `120px`. */
  readonly width: string;
  /** True if only readers of the screen get the name. */
  readonly isNameHidden?: boolean;
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
  /** Chooses a row or takes the choice back, by `x` or the space bar, where several can be chosen. */
  readonly onChoose?: (row: Row) => void;
  readonly isChosen?: (row: Row) => boolean;
  /** Called when the list is scrolled away from its start, and back to it. */
  readonly onStart?: (isAtStart: boolean) => void;
}

/** Number of rows before the end of the list at which the next page is loaded. */
const AHEAD = 20;

/**
 * A list of any length, of which only the rows in view exist. `j` and `k` or the arrow keys move, Enter opens. The
 * grid has one stop of the Tab key and names the active row. It is not a table element, whose rows all exist.
 */
export function Rows<Row>(props: RowsProps<Row>): ReactNode {
  const { label, rows, columns, keyOf, onEnd, isLoading = false, height } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => 41,
    overscan: 12,
    getItemKey: useItemKeys(rows, keyOf),
  });
  const [at, setAt] = useActive(rows, keyOf);
  useStart(props, virtual.scrollOffset ?? 0);
  const items = virtual.getVirtualItems();
  useEnds(props, items.at(-1)?.index ?? -1, virtual.scrollToIndex);
  const onKeyDown = useKeys(props, at, (next) => {
    setAt(next);
    virtual.scrollToIndex(next);
  });
  const idOf = (index: number): string => `${label}-${index}`.replaceAll(/\s/g, "-");
  const style = {
    "--columns": columns.map(({ width }) => width).join(" "),
    ...(height && { "--rows-height": height }),
  };
  return (
    <div className={css.box} style={style as CSSProperties}>
      <div
        ref={scroll}
        className={css.scroll}
        role="grid"
        aria-label={label}
        aria-multiselectable={props.onChoose && true}
        aria-rowcount={onEnd === undefined ? rows.length + 1 : -1}
        aria-activedescendant={items.some(({ index }) => index === at) ? idOf(at) : undefined}
        tabIndex={0}
        data-rows=""
        onKeyDown={onKeyDown}
      >
        <Head columns={columns} />
        <div className={css.body} role="rowgroup" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start, key }) => {
            const place = { index, start, id: idOf(index), isActive: index === at, measure: virtual.measureElement };
            return <RowView key={key} of={props} place={place} onActive={setAt} />;
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

/** Returns the keys of rows. The function stays the same with the rows, so that no place is computed twice. */
function useItemKeys<Row>(rows: readonly Row[], keyOf: (row: Row) => string): (index: number) => string | number {
  const latest = useRef(keyOf);
  latest.current = keyOf;
  return useCallback(
    (index) => {
      const row = rows[index];
      return row === undefined ? index : latest.current(row);
    },
    [rows],
  );
}

/** Rows around its old place where the active row is looked for after rows were added or removed. */
const NEAR = 2_000;

/** The index of the active row, which stays active when rows are added before it. */
function useActive<Row>(rows: readonly Row[], keyOf: (row: Row) => string): [number, (index: number) => void] {
  const [active, setActive] = useState<{ readonly index: number; readonly key: string | undefined }>({
    index: 0,
    key: undefined,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the keys of rows do not change.
  const at = useMemo(() => {
    const { index, key } = active;
    const isThere = (each: number): boolean => {
      const row = rows[each];
      return row !== undefined && keyOf(row) === key;
    };
    for (let far = 0; key !== undefined && far <= NEAR; far++) {
      if (isThere(index + far)) return index + far;
      if (isThere(index - far)) return index - far;
    }
    return Math.max(0, Math.min(index, rows.length - 1));
  }, [active, rows]);
  const moveTo = (index: number): void => {
    const row = rows[index];
    setActive({ index, key: row === undefined ? undefined : keyOf(row) });
  };
  return [at, moveTo];
}

/** Pixels that still count as the start of a list. */
const START = 20;

function useStart<Row>({ onStart }: RowsProps<Row>, offset: number): void {
  const isAtStart = offset < START;
  const latest = useRef(onStart);
  latest.current = onStart;
  useEffect(() => latest.current?.(isAtStart), [isAtStart]);
}

/** Loads what follows when the end of the list is near, and stays at the end if the list is to follow it. */
function useEnds<Row>(
  { rows: { length }, onEnd, isLoading = false, followsEnd = false }: RowsProps<Row>,
  last: number,
  scrollTo: (index: number, options: { readonly align: "end" }) => void,
): void {
  useEffect(() => {
    if (onEnd !== undefined && !isLoading && last >= length - AHEAD) onEnd();
  }, [onEnd, isLoading, last, length]);
  useEffect(() => {
    if (followsEnd && length > 0) scrollTo(length - 1, { align: "end" });
  }, [followsEnd, length, scrollTo]);
}

const keys: Partial<Record<string, number | "first" | "last">> = {
  ...{ j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, PageDown: 15, PageUp: -15 },
  ...{ Home: "first", End: "last" },
};

/** Returns the listener for the keys of a list. */
function useKeys<Row>({ rows, onOpen, onChoose }: RowsProps<Row>, at: number, moveTo: (index: number) => void) {
  return (event: KeyboardEvent): void => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = keys[event.key];
    const row = rows[at];
    if (act !== undefined) {
      const next = act === "first" ? 0 : act === "last" ? rows.length - 1 : at + act;
      moveTo(Math.max(0, Math.min(rows.length - 1, next)));
    } else if (event.key === "Enter" && row !== undefined) onOpen?.(row);
    else if ((event.key === "x" || event.key === " ") && row !== undefined && onChoose !== undefined) onChoose(row);
    else return;
    event.preventDefault();
  };
}

function Head<Row>({ columns }: Pick<RowsProps<Row>, "columns">): ReactNode {
  return (
    <div className={css.head} role="row">
      {columns.map(({ name, isNameHidden = false, minor }) => (
        <div key={name} role="columnheader" className={classes(css.cell, minor && css.minor)}>
          {isNameHidden ? <span className={ui.hidden}>{name}</span> : name}
        </div>
      ))}
    </div>
  );
}

interface RowViewProps<Row> {
  readonly of: RowsProps<Row>;
  readonly place: {
    readonly index: number;
    /** Distance from the top of the list in pixels. */
    readonly start: number;
    readonly id: string;
    readonly isActive: boolean;
    readonly measure: (element: Element | null) => void;
  };
  readonly onActive: (index: number) => void;
}

function RowView<Row>({
  of: { rows, columns, keyOf, onOpen, current, isChosen },
  place,
  onActive,
}: RowViewProps<Row>): ReactNode {
  const { index, start, id, isActive, measure } = place;
  const row = rows[index];
  if (row === undefined) return undefined;
  const isCurrent = current === keyOf(row);
  const onClick = ({ target }: MouseEvent): void => {
    onActive(index);
    // A link or button in the row, or selected text, is not for the row.
    const isForRow = !(target as Element).closest("a,button,input,label") && getSelection()?.isCollapsed !== false;
    if (isForRow) onOpen?.(row);
  };
  return (
    <div
      id={id}
      ref={measure}
      data-index={index}
      className={css.row}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isChosen?.(row) ?? isCurrent}
      data-current={isCurrent || isActive ? "" : undefined}
      data-open={onOpen && ""}
      style={{ transform: `translateY(${start}px)` }}
      onClick={onClick}
    >
      {columns.map(({ name, minor, cell }) => (
        <div key={name} role="gridcell" className={classes(css.cell, minor && css.minor)}>
          {cell(row)}
        </div>
      ))}
    </div>
  );
}
