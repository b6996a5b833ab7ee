import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import page from "./log.module.css";

/** Height of a row in pixels. All are alike, so that a million of them need no measuring. */
const ROW = 30;

/** Highest element that all browsers draw, in pixels. A longer list scrolls by more than a pixel for each pixel. */
const MAX_HEIGHT = 10_000_000;

/** Rows beside those in view. */
const OVERSCAN = 15;

interface LongListProps {
  readonly label: string;
  readonly count: number;
  readonly columns: readonly { readonly name: string; readonly width: string; readonly minor?: boolean }[];
  /** The cells of a row, in the order of the columns. */
  readonly cells: (index: number) => readonly ReactNode[];
  /** Index of the active row. */
  readonly at: number;
  readonly onAt: (index: number) => void;
  readonly onOpen: (index: number) => void;
  /** Called with the rows in view. */
  readonly onView: (first: number, last: number) => void;
  /** True to stay at the end while rows are added. */
  readonly followsEnd: boolean;
}

/** A list of up to millions of rows of one height. Only those in view exist. `j` and `k` move, Enter opens. */
export function LongList(props: LongListProps): ReactNode {
  const { label, count, columns, at, onAt, onOpen, onView, followsEnd } = props;
  const scroll = useRef<HTMLDivElement>(null);
  const view = useView(scroll, count);
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
            <Line key={index} of={props} index={index} top={view.topOf(index)} />
          ))}
        </div>
      </div>
    </div>
  );
}

interface LineProps {
  readonly of: LongListProps;
  readonly index: number;
  /** Distance from the top of the list in pixels. */
  readonly top: number;
}

function Line({ of: { columns, cells, at, onAt, onOpen }, index, top }: LineProps): ReactNode {
  return (
    <div
      id={`entry-${index}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={index === at}
      className={page.row}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => {
        onAt(index);
        onOpen(index);
      }}
    >
      {cells(index).map((cell, place) => {
        const column = columns[place];
        return (
          <div key={column?.name} role="gridcell" className={column?.minor ? page.minor : undefined}>
            {cell}
          </div>
        );
      })}
    </div>
  );
}

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

/** The rows in view of an element that scrolls. */
function useView(scroll: RefObject<HTMLDivElement | null>, count: number) {
  const [{ top, shown }, setScroll] = useState({ top: 0, shown: 600 });
  useEffect(() => {
    const element = scroll.current;
    if (element === null) return;
    const read = (): void => setScroll({ top: element.scrollTop, shown: element.clientHeight });
    const watch = new ResizeObserver(read);
    watch.observe(element);
    element.addEventListener("scroll", read, { passive: true });
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", read);
    };
  }, [scroll]);
  const total = count * ROW;
  const height = Math.min(total, MAX_HEIGHT);
  // The head sticks above the rows.
  const room = Math.max(ROW, shown - ROW);
  const ratio = height === total ? 1 : (total - room) / (height - room);
  const offset = top * ratio;
  const first = Math.max(0, Math.floor(offset / ROW) - OVERSCAN);
  const last = Math.min(count - 1, Math.ceil((offset + room) / ROW) + OVERSCAN);
  const latest = useRef({ ratio, room });
  latest.current = { ratio, room };
  const show = useRef((index: number): void => {
    const element = scroll.current;
    if (element === null) return;
    const now = element.scrollTop * latest.current.ratio;
    const [start, end] = [index * ROW, (index + 1) * ROW];
    if (start >= now && end <= now + latest.current.room) return;
    element.scrollTop = (start < now ? start : end - latest.current.room) / latest.current.ratio;
  }).current;
  const topOf = (index: number): number => top + index * ROW - offset;
  return { first, last, height, rows: Math.floor(room / ROW), show, topOf };
}
