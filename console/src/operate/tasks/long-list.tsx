import {
  type CSSProperties,
  type KeyboardEvent,
  memo,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
} from "react";
import { useLongView } from "../../ui/long-view.js";
import page from "./log.module.css";

/** Height of a row and of the head, in pixels. */
const ROW = 30;

/** Rows beside those in view. */
const OVERSCAN = 15;

interface LongListProps<Item> {
  readonly label: string;
  readonly count: number;
  readonly columns: readonly LongColumn[];
  /** The content of a row; undefined until it is read. A row is drawn again when this is another object. */
  readonly itemOf: (index: number) => Item | undefined;
  /** The cells of a row, in the order of the columns. Does not change. */
  readonly cells: (item: Item | undefined, index: number) => readonly ReactNode[];
  /** Index of the active row. */
  readonly at: number;
  readonly onAt: (index: number) => void;
  readonly onOpen: (index: number) => void;
  /** Called with the rows in view. */
  readonly onView: (first: number, last: number) => void;
  /** True to stay at the end while rows are added. */
  readonly followsEnd: boolean;
}

interface LongColumn {
  readonly name: string;
  readonly width: string;
  readonly minor?: boolean;
}

/** A list of up to millions of rows of one height. Only those in view exist. `j` and `k` move, Enter opens. */
export function LongList<Item>(props: LongListProps<Item>): ReactNode {
  const { label, count, columns, itemOf, cells, at, onAt, onOpen, onView, followsEnd } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const view = useLongView(scroll, { count, row: ROW, head: ROW, overscan: OVERSCAN });
  const { first, last } = view;
  useEffect(() => onView(first, last), [onView, first, last]);
  const isThere = at < count;
  useLayoutEffect(() => {
    if (isThere) view.show(at);
  }, [at, isThere, view.show]);
  useLayoutEffect(() => {
    if (followsEnd) view.show(count - 1);
  }, [followsEnd, count, view.show]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = moved(event, at, count, view.rows);
    if (next !== undefined) onAt(next);
    else if (event.key === "Enter") onOpen(at);
    else return;
    event.preventDefault();
  };
  const calls = useRef({ onAt, onOpen });
  calls.current = { onAt, onOpen };
  const indexes = Array.from({ length: Math.max(0, last - first + 1) }, (_, offset) => first + offset);
  const style = { "--columns": columns.map(({ width }) => width).join(" ") } as CSSProperties;
  return (
    <div className={page.box} style={style}>
      <div
        ref={scroll}
        className={page.scroll}
        role="grid"
        aria-label={label}
        aria-rowcount={count + 1}
        aria-activedescendant={at >= first && at <= last ? `entry-${at}` : undefined}
        tabIndex={0}
        data-rows=""
        onKeyDown={onKeyDown}
      >
        <div className={page.head} role="row">
          {columns.map(({ name, minor }) => (
            <div key={name} role="columnheader" className={minor ? page.minor : undefined}>
              {name}
            </div>
          ))}
        </div>
        <div role="rowgroup" className={page.body} style={{ height: view.height }}>
          {indexes.map((index) => (
            <Line
              key={index}
              {...{ columns, index, calls }}
              item={itemOf(index)}
              cells={cells as LineProps["cells"]}
              isActive={index === at}
              top={view.topOf(index)}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface LineProps {
  readonly columns: readonly LongColumn[];
  readonly item: unknown;
  readonly cells: LongListProps<unknown>["cells"];
  readonly index: number;
  readonly isActive: boolean;
  /** Distance from the top of the list in pixels. */
  readonly top: number;
  readonly calls: { readonly current: Pick<LongListProps<unknown>, "onAt" | "onOpen"> };
}

const Line = memo(({ columns, item, cells, index, isActive, top, calls }: LineProps): ReactNode => {
  const shown = cells(item, index);
  return (
    <div
      id={`entry-${index}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isActive}
      className={page.row}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => {
        calls.current.onAt(index);
        calls.current.onOpen(index);
      }}
    >
      {columns.map(({ name, minor }, place) => (
        <div key={name} role="gridcell" className={minor ? page.minor : undefined}>
          {shown[place]}
        </div>
      ))}
    </div>
  );
});

const steps: Partial<Record<string, number>> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };

/** Returns the row that a key moves to. */
function moved(event: KeyboardEvent, at: number, count: number, rows: number): number | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  const step = steps[event.key];
  let next: number | undefined;
  if (step !== undefined) next = at + step;
  else if (event.key === "PageDown") next = at + rows;
  else if (event.key === "PageUp") next = at - rows;
  else if (event.key === "Home") next = 0;
  else if (event.key === "End") next = count - 1;
  return next === undefined ? undefined : Math.max(0, Math.min(count - 1, next));
}
