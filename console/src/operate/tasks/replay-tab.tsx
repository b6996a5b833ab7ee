import { useNavigate, useSearch } from "@tanstack/react-router";
import { Pause, Play, SkipBack, SkipForward } from "lucide-react";
import { type ReactNode, useEffect, useId, useMemo, useRef, useState } from "react";
import { replayWords } from "../../texts/tasks-replay.js";
import { ErrorNote } from "../../ui/error.js";
import { absoluteTime, clockTime } from "../../ui/format.js";
import { Button, css, Note, Skeleton } from "../../ui/parts.js";
import { StateBadge } from "../../ui/states.js";
import { ContentView } from "./content-view.js";
import { type Moment, play, Replay, type Speed, speeds } from "./replay.js";
import page from "./task.module.css";
import type { TaskLog } from "./task-log.js";

interface ReplayTabProps {
  readonly log: TaskLog;
  /** The last generation. */
  readonly end: number;
}

/** The task as it was at any of its generations. */
export function ReplayTab({ log, end }: ReplayTabProps): ReactNode {
  const { at } = useSearch({ from: "/operate/tasks/$taskId" });
  const navigate = useNavigate({ from: "/operate/tasks/$taskId" });
  const onAt = (generation: number): void =>
    void navigate({ search: (before) => ({ ...before, at: generation }), replace: true, resetScroll: false });
  const replay = useReplay(log, Math.min(at ?? 1, end), end, onAt);
  const { moment, error, progress } = replay;
  return (
    <>
      <Controls end={end} replay={replay} />
      {error !== undefined && <ErrorNote error={error} />}
      {moment === undefined && error === undefined && <Skeleton lines={4} />}
      {progress !== undefined && <p role="status">{replayWords.progress(progress, log.total)}</p>}
      {moment?.damagedAt !== undefined && <Note tone="bad">{replayWords.damaged(moment.damagedAt)}</Note>}
      {moment !== undefined && <MomentView moment={moment} />}
    </>
  );
}

interface ReplayState {
  /** The generation that is asked for, which the moment reaches a little later. */
  readonly wanted: number;
  readonly moment: Moment | undefined;
  readonly error: unknown;
  /** Position that a long fold has reached. */
  readonly progress: number | undefined;
  readonly isPlaying: boolean;
  readonly speed: Speed;
  readonly seek: (generation: number) => void;
  readonly setSpeed: (speed: Speed) => void;
  readonly toggle: () => void;
}

/** Folds shorter than this show no progress, in milliseconds. */
const PATIENCE_MS = 400;

function useReplay(log: TaskLog, at: number, end: number, onAt: (generation: number) => void): ReplayState {
  const replay = useMemo(() => new Replay(log), [log]);
  const [wanted, setWanted] = useState(at);
  const [moment, setMoment] = useState<Moment>();
  const [error, setError] = useState<unknown>();
  const [progress, setProgress] = useState<number>();
  const [isPlaying, setPlaying] = useState(false);
  const [speed, setSpeed] = useState<Speed>("events");
  const latest = useRef({ moment, end, onAt });
  useEffect(() => {
    latest.current = { moment, end, onAt };
  });
  const hasLog = log.total > 0;
  useEffect(() => {
    if (isPlaying || !hasLog) return;
    const stop = new AbortController();
    const began = performance.now();
    const tell = (position: number): void => {
      if (!stop.signal.aborted && performance.now() - began > PATIENCE_MS) setProgress(position);
    };
    const done = (): void => void (stop.signal.aborted || setProgress(undefined));
    replay
      .to(wanted, stop.signal, tell)
      .then(setMoment, (cause) => stop.signal.aborted || setError(cause))
      .finally(done);
    return () => stop.abort();
  }, [replay, wanted, isPlaying, hasLog]);
  useEffect(() => {
    const { moment: from } = latest.current;
    if (!isPlaying || from === undefined) return;
    const stop = new AbortController();
    const { signal } = stop;
    const onMoment = (next: Moment): void => {
      latest.current.moment = next;
      setMoment(next);
      setWanted(next.generation);
    };
    play({ replay, from, end: latest.current.end, speed, signal, onMoment })
      .catch((cause) => signal.aborted || setError(cause))
      .finally(() => {
        if (signal.aborted) return;
        setPlaying(false);
        latest.current.onAt(latest.current.moment?.generation ?? 1);
      });
    return () => stop.abort();
  }, [replay, isPlaying, speed]);
  const seek = (generation: number): void => {
    const next = Math.max(1, Math.min(end, generation));
    setPlaying(false);
    setWanted(next);
    onAt(next);
  };
  const toggle = (): void => {
    if (isPlaying) seek(wanted);
    else setPlaying(true);
  };
  return { wanted, moment, error, progress, isPlaying, speed, seek, setSpeed, toggle };
}

function Controls({ end, replay }: { readonly end: number; readonly replay: ReplayState }): ReactNode {
  const { wanted, moment, isPlaying, speed, seek, setSpeed, toggle } = replay;
  const id = useId();
  const Icon = isPlaying ? Pause : Play;
  return (
    <section className={`${css.card} ${page.controls}`} aria-label={replayWords.label}>
      <div className={css.row}>
        <Button icon title={replayWords.previous} disabled={wanted <= 1} onClick={() => seek(wanted - 1)}>
          <SkipBack size={15} aria-hidden="true" />
        </Button>
        <Button kind="main" onClick={toggle} disabled={!isPlaying && wanted >= end}>
          <Icon size={15} aria-hidden="true" />
          {isPlaying ? replayWords.pause : replayWords.play}
        </Button>
        <Button icon title={replayWords.next} disabled={wanted >= end} onClick={() => seek(wanted + 1)}>
          <SkipForward size={15} aria-hidden="true" />
        </Button>
        <label htmlFor={id} className={css.small}>
          {replayWords.speed}
        </label>
        <select
          id={id}
          className={`${css.input} ${page.speed}`}
          value={speed}
          onChange={({ target }) => setSpeed(speeds.find((each) => each === target.value) ?? "events")}
        >
          {speeds.map((each) => (
            <option key={each} value={each}>
              {each === "events" ? replayWords.eachEvent : replayWords.times(each)}
            </option>
          ))}
        </select>
        <output className={css.soft}>
          {replayWords.place(wanted, end)}
          {moment !== undefined && moment.at > 0 && (
            <span title={absoluteTime(new Date(moment.at))}> · {clockTime(new Date(moment.at))}</span>
          )}
        </output>
      </div>
      <input
        type="range"
        className={page.slider}
        aria-label={replayWords.generation}
        min={1}
        max={Math.max(1, end)}
        value={wanted}
        onChange={({ target }) => seek(Number(target.value))}
      />
    </section>
  );
}

function MomentView({ moment }: { readonly moment: Moment }): ReactNode {
  const { task, line, position } = moment;
  return (
    <>
      <div className={css.row}>
        <StateBadge state={task.status?.state} />
        <span key={position} className={page.event}>
          {line}
        </span>
      </div>
      <ContentView task={task} />
    </>
  );
}
