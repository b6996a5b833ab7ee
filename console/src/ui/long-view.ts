import { type RefObject, useEffect, useRef, useState } from "react";

/** Highest element that all browsers draw, in pixels. A longer list scrolls by more than a pixel for each pixel. */
const MAX_HEIGHT = 10_000_000;

interface LongViewOptions {
  readonly count: number;
  /** Height of a row in pixels. All are alike, so that a million of them need no measuring. */
  readonly row: number;
  /** Height of what sticks above the rows, in pixels. */
  readonly head: number;
  /** Rows beside those in view. */
  readonly overscan: number;
}

/** The rows in view of a long list. */
export interface LongView {
  readonly first: number;
  readonly last: number;
  /** Height of all rows in pixels. */
  readonly height: number;
  /** Number of rows that fit. */
  readonly rows: number;
  /** True while the first row is in view. */
  readonly isAtStart: boolean;
  /** Scrolls until a row is in view. */
  readonly show: (index: number) => void;
  /** Distance of a row from the top of the list in pixels. */
  readonly topOf: (index: number) => number;
}

/** The rows in view of an element that scrolls. It changes once a row, not with each pixel, as far as it can. */
export function useLongView(scroll: RefObject<HTMLElement | null>, options: LongViewOptions): LongView {
  const { count, row, head, overscan } = options;
  const [{ top, shown }, setScroll] = useState({ top: 0, shown: 600 });
  const total = count * row;
  const height = Math.min(total, MAX_HEIGHT);
  const room = Math.max(row, shown - head);
  const ratio = height === total ? 1 : (total - room) / (height - room);
  const latest = useRef({ ratio, room, row });
  latest.current = { ratio, room, row };
  useEffect(() => {
    const element = scroll.current;
    if (element === null) return;
    const read = (): void => {
      const { scrollTop, clientHeight } = element;
      const { ratio: now, row: step } = latest.current;
      const next = now === 1 ? scrollTop - (scrollTop % step) : scrollTop;
      setScroll((before) =>
        before.top === next && before.shown === clientHeight ? before : { top: next, shown: clientHeight },
      );
    };
    const watch = new ResizeObserver(read);
    watch.observe(element);
    element.addEventListener("scroll", read, { passive: true });
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", read);
    };
  }, [scroll]);
  const offset = top * ratio;
  const show = useRef((index: number): void => {
    const element = scroll.current;
    if (element === null) return;
    const { ratio: scale, room: fits, row: step } = latest.current;
    const now = element.scrollTop * scale;
    const [start, end] = [index * step, (index + 1) * step];
    if (start >= now && end <= now + fits) return;
    element.scrollTop = (start < now ? start : end - fits) / scale;
  }).current;
  return {
    first: Math.max(0, Math.floor(offset / row) - overscan),
    // The view may begin in the middle of a row.
    last: Math.min(count - 1, Math.ceil((offset + room) / row) + 1 + overscan),
    ...{ height, rows: Math.floor(room / row), isAtStart: top === 0, show },
    topOf: (index) => top + index * row - offset,
  };
}
