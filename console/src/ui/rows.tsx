import {
  type CSSProperties,
  type KeyboardEvent,
  type MouseEvent,
  memo,
  type ReactNode,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { words } from "../texts/words.js";
import { useLongView } from "./long-view.js";
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
  /** Depends on nothing but the row, unless the columns are others then. */
  readonly cell: (row: Row) => ReactNode;
}

interface RowsProps<Row> {
  /** Name of the list, for readers of the screen. */
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** Returns a row as it is now, where rows change in place. A row is drawn again when this is another object. */
  readonly now?: (row: Row) => Row;
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
  const { label, rows, columns, keyOf, now = same, onEnd, isLoading = false, height } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const size = useRowSize(columns);
  const view = useLongView(scroll, { count: rows.length, ...size, overscan: OVERSCAN });
  const { first, last, show, isAtStart } = view;
  const [at, setAt] = useActive(rows, keyOf);
  useStart(props, isAtStart);
  useEnds(props, last, show);
  const onKeyDown = useKeys(props, at, (next) => {
    setAt(next);
    show(next);
  });
  const calls = useLatest({ setAt, onOpen: props.onOpen });
  const name = label.replaceAll(/\s/g, "-");
  const style = {
    "--columns": columns.map(({ width }) => width).join(" "),
    "--row": `${size.row}px`,
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
        aria-activedescendant={at >= first && at <= last ? `${name}-${at}` : undefined}
        tabIndex={0}
        data-rows=""
        onKeyDown={onKeyDown}
      >
        <Head columns={columns} />
        <div className={css.body} role="rowgroup" style={{ height: view.height }}>
          {rows.slice(first, last + 1).map((row, offset) => {
            const [index, key] = [first + offset, keyOf(row)];
            const isCurrent = props.current === key;
            return (
              <RowView
                key={key}
                {...{ name, index, calls, isCurrent }}
                row={now(row)}
                columns={columns as RowViewProps["columns"]}
                top={view.topOf(index)}
                isSelected={props.isChosen?.(row) ?? isCurrent}
                isActive={index === at}
                opens={props.onOpen !== undefined}
              />
            );
          })}
        </div>
        {isLoading && <Loading />}
      </div>
    </div>
  );
}

function Loading(): ReactNode {
  return (
    <p className={css.end} role="status">
      {words.loading}
    </p>
  );
}

/** Returns a reference that stays the same, to a value that does not. */
function useLatest<T>(value: T): { readonly current: T } {
  const latest = useRef(value);
  latest.current = value;
  return latest;
}

const same = <Row,>(row: Row): Row => row;

/** Rows beside those in view. */
const OVERSCAN = 8;

const narrow = matchMedia("(max-width: 720px)");

function watchNarrow(tell: () => void): () => void {
  narrow.addEventListener("change", tell);
  return () => narrow.removeEventListener("change", tell);
}

/** Heights of the rows and the head in pixels, as rows.module.css has them: on narrow screens two cells share a line. */
function useRowSize(columns: readonly Pick<Column<never>, "minor">[]): { readonly row: number; readonly head: number } {
  const isNarrow = useSyncExternalStore(watchNarrow, () => narrow.matches);
  if (!isNarrow) return { row: 41, head: 34 };
  const lines = Math.ceil(columns.filter(({ minor }) => !minor).length / 2);
  return { row: 11 + 26 * lines, head: 0 };
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

function useStart<Row>({ onStart }: RowsProps<Row>, isAtStart: boolean): void {
  const latest = useRef(onStart);
  latest.current = onStart;
  useEffect(() => latest.current?.(isAtStart), [isAtStart]);
}

/** Loads what follows when the end of the list is near, and stays at the end if the list is to follow it. */
function useEnds<Row>(
  { rows: { length }, onEnd, isLoading = false, followsEnd = false }: RowsProps<Row>,
  last: number,
  show: (index: number) => void,
): void {
  useEffect(() => {
    if (onEnd !== undefined && !isLoading && last >= length - AHEAD) onEnd();
  }, [onEnd, isLoading, last, length]);
  useEffect(() => {
    if (followsEnd && length > 0) show(length - 1);
  }, [followsEnd, length, show]);
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

interface RowViewProps {
  readonly row: unknown;
  readonly columns: readonly Column<unknown>[];
  /** Name of the list in the ids of its rows. */
  readonly name: string;
  readonly index: number;
  /** Distance from the top of the list in pixels. */
  readonly top: number;
  readonly isActive: boolean;
  readonly isCurrent: boolean;
  readonly isSelected: boolean;
  readonly opens: boolean;
  readonly calls: {
    readonly current: { readonly setAt: (index: number) => void; readonly onOpen: ((row: never) => void) | undefined };
  };
}

/** A row. While the list is scrolled or rows elsewhere change, it stays as it is. */
const RowView = memo((props: RowViewProps): ReactNode => {
  const { row, columns, name, index, top, isActive, isCurrent, isSelected, opens, calls } = props;
  const onClick = ({ target }: MouseEvent): void => {
    const { setAt, onOpen } = calls.current;
    setAt(index);
    // A link or button in the row, or selected text, is not for the row.
    const isForRow = !(target as Element).closest("a,button,input,label") && getSelection()?.isCollapsed !== false;
    if (isForRow) onOpen?.(row as never);
  };
  return (
    <div
      id={`${name}-${index}`}
      data-index={index}
      className={css.row}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      data-current={isCurrent || isActive ? "" : undefined}
      data-open={opens ? "" : undefined}
      style={{ transform: `translateY(${top}px)` }}
      onClick={onClick}
    >
      {columns.map(({ name: column, minor, cell }) => (
        <div key={column} role="gridcell" className={classes(css.cell, minor && css.minor)}>
          {cell(row)}
        </div>
      ))}
    </div>
  );
});
