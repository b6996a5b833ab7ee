import { Link, useParams, useSearch } from "@tanstack/react-router";
import { MessagesSquare } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { operateWords } from "../texts/operate.js";
import { ErrorNote } from "../ui/error.js";
import { Button, CopyText, css, Empty, Note, PageHead, Skeleton } from "../ui/parts.js";
import page from "./conversations/conversation.module.css";
import { lineageOf } from "./conversations/lineage.js";
import { TaskSection } from "./conversations/task-section.js";
import { type ConversationTask, useConversation } from "./conversations/use-conversation.js";
import { namedFilter } from "./shared/filter.js";
import { OwnerName, TenantName } from "./shared/names.js";
import look from "./shared/shared.module.css";
import { LiveState } from "./tasks/live-state.js";

const { conversation: texts } = operateWords;

/** Tasks that are shown at first, and more at each request. */
const STEP = 25;

/** One conversation with all its tasks. */
export default function Page(): ReactNode {
  const { contextId } = useParams({ from: "/operate/conversations/$contextId" });
  const search = useSearch({ from: "/operate/conversations/$contextId" });
  const [shown, setShown] = useState(STEP);
  const { tasks, total, isCut, error, live, retry } = useConversation(contextId, namedFilter(search), shown);
  return (
    <div className={css.page}>
      <PageHead title={texts.title} about={tasks && texts.about(total)}>
        <LiveState state={live} />
      </PageHead>
      <p className={look.chips}>
        <CopyText text={contextId} />
        {tasks?.[0] !== undefined && <Whose task={tasks[0]} />}
        <Link to="/operate/tasks" search={{ context: contextId }}>
          {texts.inTasks}
        </Link>
      </p>
      {isCut && <Note tone="wait">{texts.cut(total)}</Note>}
      {error !== null && <ErrorNote error={error} onRetry={retry} />}
      {tasks === undefined && error === null && <Skeleton lines={6} />}
      {tasks?.length === 0 && (
        <Empty icon={<MessagesSquare size={28} aria-hidden="true" />} title={texts.noneTitle}>
          <p>{texts.none}</p>
        </Empty>
      )}
      {tasks !== undefined && tasks.length > 0 && <Tasks tasks={tasks} />}
      {total > shown && (
        <div>
          <Button onClick={() => setShown(shown + STEP)}>{texts.showTasks(total - shown)}</Button>
        </div>
      )}
    </div>
  );
}

function Whose({ task: { row } }: { readonly task: ConversationTask }): ReactNode {
  return (
    <>
      <span>
        {operateWords.owner}: <OwnerName owner={row.owner} />
      </span>
      <span>
        {operateWords.tenant}: <TenantName tenant={row.tenant} />
      </span>
    </>
  );
}

function Tasks({ tasks }: { readonly tasks: readonly ConversationTask[] }): ReactNode {
  const lineage = useMemo(() => lineageOf(tasks.flatMap(({ details }) => details?.task ?? [])), [tasks]);
  return (
    <ol className={page.list}>
      {tasks.map((task) => (
        <TaskSection key={task.row.id} task={task} lineage={lineage} />
      ))}
    </ol>
  );
}
