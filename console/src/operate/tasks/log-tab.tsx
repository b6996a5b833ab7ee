import { toJson } from "@bufbuild/protobuf";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { ChevronLeft, ChevronRight, X } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import type { Entry } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { LogEntrySchema } from "../../../../gen/parley/log/v1/log_pb.js";
import { admin } from "../../api/admin.js";
import { JsonView } from "../../content/json-view.js";
import { ScrollBox } from "../../content/scroll-box.js";
import { logWords } from "../../texts/tasks-log.js";
import { words } from "../../texts/words.js";
import { ErrorNote } from "../../ui/error.js";
import { absoluteTime, bytesText, clockTime, numberText } from "../../ui/format.js";
import { Badge, Button, Bytes, css, Facts, Skeleton, type Tone } from "../../ui/parts.js";
import { type EntryKind, kindOf, lineOf } from "./entry-text.js";
import page from "./log.module.css";
import { LogBar } from "./log-bar.js";
import { LongList } from "./long-list.js";
import type { TaskLog } from "./task-log.js";
import { dateOf } from "./task-row.js";
import { useLogVersion } from "./use-task.js";

const { columns: names } = logWords;

const columns = [
  { name: names.position, width: "64px" },
  { name: names.generation, width: "64px", minor: true },
  { name: names.time, width: "124px", minor: true },
  { name: names.kind, width: "86px" },
  { name: names.content, width: "minmax(0, 1fr)" },
  { name: names.attempt, width: "64px", minor: true },
  { name: names.writer, width: "86px", minor: true },
  { name: names.size, width: "66px", minor: true },
] as const;

/** Those that are left beside an open entry. */
const fewColumns = columns.slice(0, 5);

const tones: Partial<Record<EntryKind, Tone>> = { damaged: "bad", status: "busy", artifact: "good", step: "wait" };

/** The log of a task, of which only the part in view is read. */
export function LogTab({ log }: { readonly log: TaskLog }): ReactNode {
  useLogVersion(log);
  const { entry: opened } = useSearch({ from: "/operate/tasks/$taskId" });
  const navigate = useNavigate({ from: "/operate/tasks/$taskId" });
  const [at, setAt] = useState(() => Math.max(0, (opened ?? 1) - 1));
  const [followsEnd, setFollowsEnd] = useState(false);
  const onView = useCallback((first: number, last: number) => log.want(first + 1, last + 1), [log]);
  // The log may have become longer since the view was read.
  useEffect(() => {
    if (log.total > 0 && log.peek(1) === undefined) log.want(1, 1);
  }, [log]);
  const shown = opened === undefined ? columns : fewColumns;
  const open = (index: number | undefined): void =>
    void navigate({
      search: (before) => ({ ...before, entry: index === undefined ? undefined : index + 1 }),
      replace: true,
      // The router would scroll the list back to where it was.
      resetScroll: false,
    });
  const show = (index: number): void => {
    setAt(index);
    open(index);
  };
  return (
    <>
      <LogBar log={log} onShow={show} followsEnd={followsEnd} onFollowsEnd={setFollowsEnd} />
      {log.error !== undefined && <ErrorNote error={log.error} onRetry={() => log.want(at + 1, at + 1)} />}
      <div className={page.split} data-open={opened === undefined ? undefined : ""}>
        <LongList
          label={logWords.label}
          count={log.total}
          columns={shown}
          itemOf={(index) => log.peek(index + 1)}
          cells={cellsOf}
          at={at}
          onAt={(index) => (opened === undefined ? setAt(index) : show(index))}
          onOpen={open}
          onView={onView}
          followsEnd={followsEnd}
        />
        {opened !== undefined && <Detail log={log} position={opened} onStep={show} onClose={() => open(undefined)} />}
      </div>
    </>
  );
}

function cellsOf(entry: Entry | undefined, index: number): readonly ReactNode[] {
  const position = index + 1;
  if (entry === undefined) return [numberText(position), "", "", "", <span key="" className={css.skeleton} />];
  const { entry: stored, attempt, writer, bytes } = entry;
  const kind = kindOf(stored);
  const at = dateOf(stored?.time);
  return [
    numberText(position),
    stored === undefined ? "" : numberText(stored.generation),
    at === undefined ? "" : clockTime(at),
    <Badge key="" tone={tones[kind]}>
      {logWords.kinds[kind]}
    </Badge>,
    lineOf(stored),
    attempt === 0 ? "" : numberText(attempt),
    <span key="" className={css.mono} title={writer}>
      {writer.slice(-8)}
    </span>,
    bytesText(bytes),
  ];
}

interface DetailProps {
  readonly log: TaskLog;
  readonly position: number;
  readonly onStep: (index: number) => void;
  readonly onClose: () => void;
}

/** One entry: what it says, and how it is stored. */
function Detail({ log, position, onStep, onClose }: DetailProps): ReactNode {
  const { taskId, total } = log;
  const { data, error, refetch } = useQuery({
    queryKey: ["operate", "entry", taskId, position],
    queryFn: ({ signal }) => admin.listEntries({ taskId, after: position - 1, pageSize: 1, raw: true }, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
    structuralSharing: false,
  });
  const entry = data?.entries[0];
  return (
    <section className={`${css.card} ${page.detail}`} aria-label={logWords.entry(position)}>
      <div className={css.head}>
        <h2>{logWords.entry(position)}</h2>
        <div className={css.row}>
          <Button
            kind="plain"
            icon
            title={logWords.before}
            disabled={position <= 1}
            onClick={() => onStep(position - 2)}
          >
            <ChevronLeft size={16} aria-hidden="true" />
          </Button>
          <Button
            kind="plain"
            icon
            title={logWords.after}
            disabled={position >= total}
            onClick={() => onStep(position)}
          >
            <ChevronRight size={16} aria-hidden="true" />
          </Button>
          <Button kind="plain" icon title={words.close} onClick={onClose}>
            <X size={16} aria-hidden="true" />
          </Button>
        </div>
      </div>
      {error !== null && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Skeleton />}
      {data !== undefined && entry === undefined && <p>{logWords.noEntry}</p>}
      {entry !== undefined && <EntryView entry={entry} />}
    </section>
  );
}

function EntryView({ entry }: { readonly entry: Entry }): ReactNode {
  const { entry: stored, attempt, writer, bytes, raw } = entry;
  const json = useMemo(() => {
    try {
      return stored && toJson(LogEntrySchema, stored);
    } catch {
      return undefined;
    }
  }, [stored]);
  const at = dateOf(stored?.time);
  return (
    <>
      <Facts
        rows={[
          at !== undefined && [names.time, absoluteTime(at)],
          stored !== undefined && [names.generation, numberText(stored.generation)],
          [names.attempt, attempt === 0 ? logWords.noAttempt : numberText(attempt)],
          [names.writer, writer === "" ? logWords.noWriter : writer],
          [names.size, <Bytes key="" size={bytes} />],
        ]}
      />
      {stored === undefined && <p role="alert">{logWords.damagedEntry}</p>}
      {json !== undefined && <JsonView value={json} />}
      <RawBytes bytes={raw} />
    </>
  );
}

/** Bytes that are shown at first, with each click as many more. */
const SHOWN = 1_024;

function RawBytes({ bytes }: { readonly bytes: Uint8Array }): ReactNode {
  const [limit, setLimit] = useState(SHOWN);
  const text = useMemo(() => hexOf(bytes.subarray(0, limit)), [bytes, limit]);
  return (
    <>
      <h3>{logWords.raw}</h3>
      <ScrollBox label={logWords.raw} className={`${css.pre} ${css.mono} ${page.hex}`}>
        {text}
      </ScrollBox>
      {bytes.length > limit && (
        <Button onClick={() => setLimit(limit * 8)}>{logWords.moreBytes(bytes.length - limit)}</Button>
      )}
    </>
  );
}

/** Returns a dump: the offset, 16 bytes as hexadecimal digits, and those that are printable ASCII. */
function hexOf(bytes: Uint8Array): string {
  const lines: string[] = [];
  for (let from = 0; from < bytes.length; from += 16) {
    const row = [...bytes.subarray(from, from + 16)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = row.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${from.toString(16).padStart(6, "0")}  ${hex.padEnd(47)}  ${text}`);
  }
  return lines.join("\n");
}
