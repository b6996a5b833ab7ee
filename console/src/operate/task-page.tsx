import { Code, ConnectError } from "@connectrpc/connect";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import { ArrowLeft } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import type { GetTaskResponse } from "../../../gen/parley/admin/v1/admin_pb.js";
import { taskPageWords } from "../texts/task.js";
import { ErrorNote } from "../ui/error.js";
import { Button, css, Empty, Note, Skeleton } from "../ui/parts.js";
import { TabLinks } from "../ui/tabs.js";
import { DelegationsTab } from "./tasks/delegations-tab.js";
import { DeliveriesTab } from "./tasks/deliveries-tab.js";
import { Summary } from "./tasks/summary.js";
import { TimelineTab } from "./tasks/timeline-tab.js";
import { type OneTask, useLogVersion, useTask } from "./tasks/use-task.js";

// Loaded when a tab is opened.
const LogTab = lazy(async () => ({ default: (await import("./tasks/log-tab.js")).LogTab }));
const ReplayTab = lazy(async () => ({ default: (await import("./tasks/replay-tab.js")).ReplayTab }));
const ContentTab = lazy(async () => ({ default: (await import("./tasks/content-tab.js")).ContentTab }));
const RawTab = lazy(async () => ({ default: (await import("./tasks/raw-tab.js")).RawTab }));

const { tabs } = taskPageWords;

/** One task: what it is, and how it came to be so. */
export default function TaskPage(): ReactNode {
  const { taskId } = useParams({ from: "/operate/tasks/$taskId" });
  return <OnePage key={taskId} taskId={taskId} />;
}

function OnePage({ taskId }: { readonly taskId: string }): ReactNode {
  const task = useTask(taskId);
  const [isDeleted, setDeleted] = useState(false);
  const { answer, error } = task;
  if (isDeleted) return <Gone>{taskPageWords.deleted}</Gone>;
  if (error !== null && answer === undefined) {
    const isMissing = error instanceof ConnectError && error.code === Code.NotFound;
    if (isMissing) return <Gone>{taskPageWords.missing}</Gone>;
    return (
      <div className={css.page}>
        <ErrorNote error={error} onRetry={task.reload} />
      </div>
    );
  }
  if (answer === undefined) {
    return (
      <div className={css.page}>
        <Skeleton lines={4} />
      </div>
    );
  }
  const { damaged, deliveries } = answer;
  return (
    <div className={css.page}>
      <Summary task={task} answer={answer} taskId={taskId} onDeleted={() => setDeleted(true)} />
      {damaged && <Note tone="bad">{taskPageWords.damaged}</Note>}
      <Tabs configs={deliveries.length} isDamaged={damaged} />
      <Suspense fallback={<Skeleton lines={5} />}>
        <Tab task={task} answer={answer} taskId={taskId} />
      </Suspense>
    </div>
  );
}

/** Stands for what needs the whole of a task with a long log. */
function LongTask({ task: { log, error, readWhole, reload } }: { readonly task: OneTask }): ReactNode {
  if (error !== null) return <ErrorNote error={error} onRetry={reload} />;
  if (readWhole === undefined) return <Skeleton lines={5} />;
  return (
    <Note>
      <p>{taskPageWords.long(log.total)}</p>
      <Button onClick={readWhole}>{taskPageWords.readWhole}</Button>
    </Note>
  );
}

function Gone({ children }: { readonly children: string }): ReactNode {
  return (
    <div className={css.page}>
      <Empty title={children}>
        <Link to="/operate/tasks">
          <ArrowLeft size={14} aria-hidden="true" /> {taskPageWords.back}
        </Link>
      </Empty>
    </div>
  );
}

interface TabsProps {
  readonly configs: number;
  readonly isDamaged: boolean;
}

function Tabs({ configs, isDamaged }: TabsProps): ReactNode {
  const { tab } = useSearch({ from: "/operate/tasks/$taskId" });
  // Of a damaged task only the entries are left.
  const whole = [["content", tabs.content] as const];
  const names = [
    ["timeline", tabs.timeline],
    ["log", tabs.log],
    ["replay", tabs.replay],
    ...(isDamaged ? [] : whole),
    ["delegations", tabs.delegations],
    ["deliveries", tabs.deliveries(configs)],
    ["raw", tabs.raw],
  ] as const;
  return <TabLinks label={tabs.label} tabs={names} current={tab} />;
}

interface TabProps {
  readonly task: OneTask;
  readonly answer: GetTaskResponse;
  readonly taskId: string;
}

function Tab({ task, answer, taskId }: TabProps): ReactNode {
  const { tab } = useSearch({ from: "/operate/tasks/$taskId" });
  const { log } = task;
  useLogVersion(log);
  switch (tab) {
    case "log":
      return <LogTab log={log} />;
    case "replay":
      return <ReplayTab log={log} end={answer.summary?.generation ?? log.total} />;
    case "content":
      return answer.task === undefined ? <LongTask task={task} /> : <ContentTab task={answer.task} log={log} />;
    case "delegations":
      return <DelegationsTab log={log} />;
    case "deliveries":
      return <DeliveriesTab deliveries={answer.deliveries} />;
    case "raw":
      if (answer.task === undefined && !answer.damaged) return <LongTask task={task} />;
      return <RawTab answer={answer} taskId={taskId} />;
    default:
      return <TimelineTab log={log} />;
  }
}
