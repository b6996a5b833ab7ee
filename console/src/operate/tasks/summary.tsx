import { Link } from "@tanstack/react-router";
import { ArrowLeft, MessageSquare } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { GetTaskResponse, TaskSummary } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { absolute } from "../../api/agents.js";
import { taskPageWords } from "../../texts/task.js";
import { taskWords } from "../../texts/tasks.js";
import { Button, Bytes, CopyText, css, Facts, Time } from "../../ui/parts.js";
import { StateBadge } from "../../ui/states.js";
import { ActionDialog, type RequestedAction } from "./action-dialog.js";
import type { ChangeKind } from "./changes.js";
import { LiveState } from "./live-state.js";
import { useMayWrite, useSession } from "./role.js";
import page from "./task.module.css";
import { refusalOf } from "./task-menu.js";
import { dateOf } from "./task-row.js";
import type { OneTask } from "./use-task.js";

const { facts } = taskPageWords;

interface SummaryProps {
  readonly task: OneTask;
  readonly answer: GetTaskResponse;
  readonly taskId: string;
  readonly onDeleted: () => void;
}

/** The head of a task's page: its state, its facts, and what can be done. */
export function Summary({ task, answer, taskId, onDeleted }: SummaryProps): ReactNode {
  const { state, follow } = task;
  const { summary, task: whole, bytes, damaged } = answer;
  return (
    <>
      <header className={css.head}>
        <div>
          <Link to="/operate/tasks" className={`${css.small} ${page.back}`}>
            <ArrowLeft size={13} aria-hidden="true" /> {taskPageWords.back}
          </Link>
          <h1>{taskPageWords.title}</h1>
          <CopyText text={taskId} />
        </div>
        <div className={css.row}>
          <StateBadge state={state} />
          {!damaged && <LiveState state={follow} />}
        </div>
      </header>
      <Actions task={task} taskId={taskId} summary={summary} isDamaged={damaged} onDeleted={onDeleted} />
      {summary !== undefined && <SummaryFacts summary={summary} bytes={whole && bytes} />}
    </>
  );
}

interface SummaryFactsProps {
  readonly summary: TaskSummary;
  /** Undefined if the task was not read. */
  readonly bytes: bigint | undefined;
}

function SummaryFacts({ summary, bytes }: SummaryFactsProps): ReactNode {
  const { agent, owner, tenant, contextId, statusTime, position, generation, lease } = summary;
  const conversation = (
    <Link to="/operate/conversations/$contextId" params={{ contextId }} search={{ tenant, owner }}>
      {contextId}
    </Link>
  );
  return (
    <div className={`${css.card} ${page.summary}`}>
      <Facts
        rows={[
          [facts.agent, agent || taskWords.noAgent],
          [facts.owner, owner || taskWords.anonymous],
          [facts.tenant, tenant || taskWords.defaultTenant],
          [facts.conversation, conversation],
        ]}
      />
      <Facts
        rows={[
          [facts.since, <Time key="" at={dateOf(statusTime)} />],
          [facts.log, facts.logOf(position, generation)],
          bytes !== undefined && [facts.size, <Bytes key="" size={bytes} />],
          lease !== undefined && [
            facts.execution,
            lease.holder === "" ? facts.unclaimed(lease.attempt) : facts.heldBy(lease.holder, lease.attempt),
          ],
        ]}
      />
    </div>
  );
}

interface ActionsProps {
  readonly task: OneTask;
  readonly taskId: string;
  readonly summary: TaskSummary | undefined;
  readonly isDamaged: boolean;
  readonly onDeleted: () => void;
}

const kinds: readonly ChangeKind[] = ["cancel", "fail", "export", "delete"];

function Actions({ task, taskId, summary, isDamaged, onDeleted }: ActionsProps): ReactNode {
  const mayWrite = useMayWrite();
  const session = useSession();
  const [asked, setAsked] = useState<RequestedAction>();
  const owns = session?.agents.filter(({ own: isOwn }) => isOwn) ?? [];
  const own = owns.find(({ name }) => name === summary?.agent) ?? (owns.length === 1 ? owns[0] : undefined);
  const onChanged = (kind: ChangeKind): void => {
    if (kind === "delete") onDeleted();
    else if (kind !== "export") task.reload();
  };
  return (
    <div className={css.row}>
      {own !== undefined && (
        <Link to="/talk" search={{ agent: absolute(own.url), task: taskId }} className={css.button}>
          <MessageSquare size={15} aria-hidden="true" />
          {taskWords.act.talk}
        </Link>
      )}
      {kinds.map((kind) => {
        const refusal = refusalOf(kind, task.state, mayWrite, isDamaged);
        return (
          <Button
            key={kind}
            {...(kind !== "export" && { kind: "danger" })}
            disabled={refusal !== undefined}
            title={refusal}
            onClick={() => setAsked({ kind, ids: [taskId] })}
          >
            {taskWords.act[kind]}
          </Button>
        );
      })}
      {!mayWrite && <span className={`${css.soft} ${css.small}`}>{taskWords.readOnly}</span>}
      <ActionDialog asked={asked} onClose={() => setAsked(undefined)} onChanged={onChanged} />
    </div>
  );
}
