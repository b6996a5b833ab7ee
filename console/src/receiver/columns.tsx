import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { NotificationSummary } from "../api/receiver.js";
import { receiverWords as texts } from "../texts/receiver.js";
import { bytesText, clockTime } from "../ui/format.js";
import { Badge, css as ui } from "../ui/parts.js";
import type { Column } from "../ui/rows.js";
import { StateBadge } from "../ui/states.js";
import css from "./receiver.module.css";
import type { Registration } from "./registrations.js";

/** Finds the page of a notification's task. */
export interface TaskPlaces {
  readonly registrations: readonly Registration[];
  /** True if an operator's service can be reached, whose page is shown for the tasks of other clients. */
  readonly hasAdmin: boolean;
}

/** The columns of the list of notifications. */
export function notificationColumns(places: TaskPlaces): readonly Column<NotificationSummary>[] {
  return [
    { name: texts.columns.proof, width: "92px", cell: (row) => <ProofBadge of={row} /> },
    { name: texts.columns.event, width: "minmax(0, 1.4fr)", cell: (row) => <EventCell of={row} /> },
    {
      name: texts.columns.task,
      width: "minmax(0, 1.4fr)",
      minor: true,
      cell: ({ taskId }) => <TaskPlace taskId={taskId} places={places} />,
    },
    { name: texts.columns.size, width: "84px", minor: true, cell: ({ size }) => bytesText(size) },
    {
      name: texts.columns.at,
      width: "138px",
      cell: ({ at }) => <time dateTime={at}>{clockTime(new Date(at))}</time>,
    },
  ];
}

/** Tells how a notification was verified. */
export function ProofBadge({ of }: { readonly of: NotificationSummary }): ReactNode {
  const { refusal, signatures } = of;
  if (refusal !== undefined) return <Badge tone="bad">{texts.refused}</Badge>;
  return signatures.length > 0 ? <Badge tone="good">{texts.signed}</Badge> : <Badge tone="busy">{texts.byToken}</Badge>;
}

function EventCell({ of }: { readonly of: NotificationSummary }): ReactNode {
  const { kind = "", state, isTest, isRepeat, refusal } = of;
  return (
    <span className={css.event}>
      <span>{texts.kinds[kind] ?? texts.unreadable}</span>
      {state !== undefined && <StateBadge state={state} />}
      {isTest && <Badge>{texts.test}</Badge>}
      {isRepeat && <Badge>{texts.repeat}</Badge>}
      {refusal !== undefined && (
        <span className={`${ui.soft} ${css.reason}`} title={refusal.reason}>
          {refusal.reason}
        </span>
      )}
    </span>
  );
}

interface TaskPlaceProps {
  readonly taskId: string | undefined;
  readonly places: TaskPlaces;
}

/** A link to the conversation with the task, or to the operator's page of it. */
export function TaskPlace({ taskId = "", places: { registrations, hasAdmin } }: TaskPlaceProps): ReactNode {
  if (taskId === "") return <span className={ui.soft}>–</span>;
  const agent = registrations.find((each) => each.taskId === taskId)?.agent;
  const look = { className: `${ui.mono} ${css.task}`, title: taskId };
  if (agent !== undefined) {
    return (
      <Link to="/talk" search={{ agent, task: taskId }} {...look}>
        {taskId}
      </Link>
    );
  }
  if (!hasAdmin) return <span {...look}>{taskId}</span>;
  return (
    <Link to="/operate/tasks/$taskId" params={{ taskId }} {...look}>
      {taskId}
    </Link>
  );
}
