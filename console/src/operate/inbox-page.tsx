import { useNavigate, useSearch } from "@tanstack/react-router";
import { Inbox } from "lucide-react";
import { type ReactNode, useState } from "react";
import { operateWords } from "../texts/operate.js";
import { ErrorNote } from "../ui/error.js";
import { Button, css, Empty, Note, PageHead, Skeleton } from "../ui/parts.js";
import page from "./inbox/inbox.module.css";
import { InboxCard } from "./inbox/inbox-card.js";
import { useCardKeys } from "./inbox/use-card-keys.js";
import { useInbox } from "./inbox/use-inbox.js";
import { namedFilter } from "./shared/filter.js";
import { NameFilters } from "./shared/name-filters.js";
import { LiveState } from "./tasks/live-state.js";
import type { TaskRow } from "./tasks/task-row.js";

const { inbox: texts } = operateWords;

/** Tasks that are shown at first, and more at each request. */
const STEP = 20;

/** Everything that waits for a person. */
export default function Page(): ReactNode {
  const search = useSearch({ from: "/operate/inbox" });
  const navigate = useNavigate({ from: "/operate/inbox" });
  const { inbox, error, live, retry } = useInbox(namedFilter(search));
  const change = (changed: typeof search): void =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  return (
    <div className={css.page}>
      <PageHead title={texts.title} about={inbox === undefined ? texts.about : texts.waits(inbox.rows.length)}>
        <LiveState state={live} />
      </PageHead>
      <search className={css.row} aria-label={operateWords.filter}>
        <NameFilters search={search} onChange={change} />
      </search>
      {error !== null && <ErrorNote error={error} onRetry={retry} />}
      {inbox === undefined ? error === null && <Skeleton lines={6} /> : <Cards {...inbox} />}
    </div>
  );
}

interface CardsProps {
  readonly rows: readonly TaskRow[];
  readonly isCut: boolean;
}

const keyOf = ({ id, generation }: TaskRow): string => `${id} ${generation}`;

function Cards({ rows, isCut }: CardsProps): ReactNode {
  const [shown, setShown] = useState(STEP);
  // An answered task leaves the list at once, before the stream tells what its agent does.
  const [answered, setAnswered] = useState<ReadonlySet<string>>(new Set());
  const [news, setNews] = useState("");
  useCardKeys();
  const left = rows.filter((row) => !answered.has(keyOf(row)));
  const onAnswered = (row: TaskRow): void => {
    const next = left[left.indexOf(row) + 1] ?? left[left.indexOf(row) - 1];
    setAnswered(new Set([...answered, keyOf(row)]));
    setNews(texts.sent(row.id));
    // The keyboard goes on with the next one.
    requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-inbox="${next?.id ?? ""}"]`)?.focus());
  };
  return (
    <>
      <p role="status" className={news === "" ? css.hidden : css.soft}>
        {news}
      </p>
      {isCut && <Note tone="wait">{texts.cut(rows.length)}</Note>}
      {left.length === 0 ? (
        <Empty icon={<Inbox size={28} aria-hidden="true" />} title={texts.noneTitle}>
          <p>{texts.none}</p>
        </Empty>
      ) : (
        <ul className={page.list} aria-label={texts.title}>
          {left.slice(0, shown).map((row) => (
            <InboxCard key={keyOf(row)} row={row} onAnswered={onAnswered} />
          ))}
        </ul>
      )}
      {left.length > shown && <Button onClick={() => setShown(shown + STEP)}>{operateWords.showMore}</Button>}
    </>
  );
}
