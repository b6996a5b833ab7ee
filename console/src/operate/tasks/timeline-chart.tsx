import { ArrowLeft, ArrowRight, Maximize, ZoomIn, ZoomOut } from "lucide-react";
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { states } from "../../texts/states.js";
import { timelineWords } from "../../texts/tasks-timeline.js";
import { clockTime, durationText } from "../../ui/format.js";
import { Button, css } from "../../ui/parts.js";
import type { Bar, Lane, Mark, Timeline } from "./timeline.js";
import page from "./timeline.module.css";

/** Bars of one line that are drawn. */
const MAX_BARS = 200;

/** Lines for times. */
const TICKS = 5;

/** Part of the time that a step of the keyboard moves. */
const STEP = 0.2;

/** Part of the time that is left free at both sides. */
const EDGE = 0.012;

interface Range {
  readonly from: number;
  readonly to: number;
}

interface ChartProps {
  readonly timeline: Timeline;
  readonly onOpen: (position: number) => void;
}

/** The bars of a task over time. */
export function TimelineChart({ timeline, onOpen }: ChartProps): ReactNode {
  const now = useNow(timeline.lanes.some(({ bars }) => bars.some(({ to }) => to === undefined)));
  const end = Math.max(timeline.to, now, timeline.from + 1);
  const edge = (end - timeline.from) * EDGE;
  const whole = { from: timeline.from - edge, to: end + edge };
  const [zoomed, setZoomed] = useState<Range>();
  const range = zoomed ?? whole;
  const act = (name: Act): void => setZoomed(acts[name](range, whole));
  const onKeyDown = (event: KeyboardEvent): void => {
    const name = keys[event.key];
    if (name === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(name);
  };
  const hidden = timeline.lanes.reduce((sum, { bars }) => sum + Math.max(0, seen(bars, range).length - MAX_BARS), 0);
  return (
    <section className={page.chart} aria-label={timelineWords.label} onKeyDown={onKeyDown}>
      <div className={css.row}>
        {(Object.keys(icons) as Act[]).map((name) => {
          const Icon = icons[name];
          return (
            <Button key={name} icon title={timelineWords[name]} onClick={() => act(name)}>
              <Icon size={15} aria-hidden="true" />
            </Button>
          );
        })}
        <span className={`${css.soft} ${css.small}`}>{timelineWords.hint}</span>
      </div>
      <div className={page.lanes}>
        <Axis range={range} />
        {timeline.lanes.map((lane) => (
          <LaneView key={lane.name} lane={lane} range={range} end={end} onOpen={onOpen} />
        ))}
        <Marks marks={timeline.marks} range={range} onOpen={onOpen} />
      </div>
      {hidden > 0 && <p className={`${css.soft} ${css.small}`}>{timelineWords.hidden(hidden)}</p>}
    </section>
  );
}

type Act = "zoomIn" | "zoomOut" | "earlier" | "later" | "all";

const icons = { zoomIn: ZoomIn, zoomOut: ZoomOut, earlier: ArrowLeft, later: ArrowRight, all: Maximize };

const keys: Partial<Record<string, Act>> = {
  ...{ "+": "zoomIn", "=": "zoomIn", "-": "zoomOut", ArrowLeft: "earlier", ArrowRight: "later", "0": "all" },
};

const acts: Record<Act, (range: Range, whole: Range) => Range | undefined> = {
  zoomIn: (range) => scaled(range, 0.5),
  zoomOut: (range, whole) => {
    const wide = scaled(range, 2);
    return wide.to - wide.from >= whole.to - whole.from ? undefined : wide;
  },
  earlier: (range) => shifted(range, -STEP),
  later: (range) => shifted(range, STEP),
  all: () => undefined,
};

function scaled({ from, to }: Range, factor: number): Range {
  const middle = (from + to) / 2;
  const half = Math.max(0.5, ((to - from) / 2) * factor);
  return { from: middle - half, to: middle + half };
}

function shifted({ from, to }: Range, part: number): Range {
  const by = (to - from) * part;
  return { from: from + by, to: to + by };
}

/** The present time in milliseconds, while something goes on; otherwise 0. */
function useNow(isRunning: boolean): number {
  const [now, setNow] = useState(0);
  useEffect(() => {
    if (!isRunning) return setNow(0);
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now;
}

function Axis({ range: { from, to } }: { readonly range: Range }): ReactNode {
  const ticks = Array.from({ length: TICKS }, (_, index) => index / TICKS);
  return (
    <div className={page.lane} aria-hidden="true">
      <span className={page.name}>{durationText(to - from)}</span>
      <div className={page.axis}>
        {ticks.map((part) => (
          <span key={part} style={{ left: `${part * 100}%` }}>
            {clockTime(new Date(from + (to - from) * part))}
          </span>
        ))}
      </div>
    </div>
  );
}

const seen = (bars: readonly Bar[], range: Range): readonly Bar[] =>
  bars.filter(({ from, to }) => from <= range.to && (to ?? range.to) >= range.from);

interface LaneViewProps {
  readonly lane: Lane;
  readonly range: Range;
  /** End of bars that go on. */
  readonly end: number;
  readonly onOpen: (position: number) => void;
}

function LaneView({ lane: { name, bars }, range, end, onOpen }: LaneViewProps): ReactNode {
  const part = (at: number): number => ((at - range.from) / (range.to - range.from)) * 100;
  return (
    <div className={page.lane}>
      <span className={page.name}>{name}</span>
      <div className={page.line}>
        {seen(bars, range)
          .slice(0, MAX_BARS)
          .map((bar) => {
            const [left, right] = [Math.max(0, part(bar.from)), Math.min(100, part(bar.to ?? end))];
            const text = barLabel(bar);
            return (
              <button
                key={`${bar.position} ${bar.label}`}
                type="button"
                className={page.bar}
                data-kind={bar.kind}
                data-open={bar.to === undefined ? "" : undefined}
                title={text}
                aria-label={text}
                style={{ left: `${left}%`, width: `${Math.max(0, right - left)}%` }}
                onClick={() => onOpen(bar.position)}
              >
                {bar.label}
              </button>
            );
          })}
      </div>
    </div>
  );
}

const barLabel = ({ label, from, to }: Bar): string =>
  to === undefined ? timelineWords.open(label) : timelineWords.bar(label, durationText(to - from));

interface MarksProps {
  readonly marks: readonly Mark[];
  readonly range: Range;
  readonly onOpen: (position: number) => void;
}

/** The statuses, as points. Of those that lie on each other the last is a button; zooming in separates them. */
function Marks({ marks, range: { from, to }, onOpen }: MarksProps): ReactNode {
  const [line, width] = useWidth();
  const shown = marks.filter(({ at }) => at >= from && at <= to).slice(-MAX_BARS);
  const apart = farApart(shown, ((to - from) * MARK_PX) / Math.max(width, MARK_PX));
  return (
    <div className={page.lane}>
      <span className={page.name}>{timelineWords.status}</span>
      <div className={page.line} ref={line}>
        {shown.map((mark) => {
          const { state, at, position } = mark;
          const text = `${states[state]} ${clockTime(new Date(at))}`;
          const looks = {
            className: page.mark,
            "data-state": state,
            style: { left: `${((at - from) / (to - from)) * 100}%` },
          };
          if (!apart.has(mark)) return <span key={position} aria-hidden="true" {...looks} />;
          return (
            <button
              key={position}
              type="button"
              title={text}
              aria-label={text}
              {...looks}
              onClick={() => onOpen(position)}
            />
          );
        })}
      </div>
    </div>
  );
}

/** Width of the button of a status in pixels, the least for a target. */
const MARK_PX = 24;

/** The marks that are at least so many milliseconds apart, the last ones first. */
function farApart(marks: readonly Mark[], ms: number): ReadonlySet<Mark> {
  const apart = new Set<Mark>();
  let next = Number.POSITIVE_INFINITY;
  for (const mark of [...marks].reverse()) {
    if (next - mark.at < ms) continue;
    apart.add(mark);
    next = mark.at;
  }
  return apart;
}

/** A reference to an element, with its width in pixels. */
function useWidth(): [ref: RefObject<HTMLDivElement | null>, width: number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (ref.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}
