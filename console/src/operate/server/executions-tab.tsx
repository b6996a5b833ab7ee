import { useNavigate } from "@tanstack/react-router";
import { Cpu } from "lucide-react";
import type { ReactNode } from "react";
import type { Execution } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { admin } from "../../api/admin.js";
import { operateWords } from "../../texts/operate.js";
import { serverWords } from "../../texts/server.js";
import { Badge, Time } from "../../ui/parts.js";
import type { Column } from "../../ui/rows.js";
import { StateBadge } from "../../ui/states.js";
import { OwnerName, TaskLink } from "../shared/names.js";
import { PagedRows } from "../shared/paged-list.js";
import { usePages } from "../shared/pages.js";
import { dateOf } from "../tasks/task-row.js";

const { executions: texts } = serverWords;

/** Milliseconds between reads. */
const EVERY = 2_000;

const columns: readonly Column<Execution>[] = [
  {
    name: texts.state,
    width: "132px",
    cell: ({ running }) => <Badge tone={running ? "busy" : "wait"}>{running ? texts.running : texts.waiting}</Badge>,
  },
  { name: texts.since, width: "116px", cell: ({ since }) => <Time at={dateOf(since)} /> },
  {
    name: operateWords.task,
    width: "minmax(0, 2fr)",
    cell: ({ task }) => task && <TaskLink id={task.taskId} />,
  },
  {
    name: operateWords.state,
    width: "132px",
    minor: true,
    cell: ({ task }) => task && <StateBadge state={task.state} />,
  },
  { name: operateWords.agent, width: "minmax(0, 1fr)", minor: true, cell: ({ task }) => task?.agent },
  {
    name: operateWords.owner,
    width: "minmax(0, 1fr)",
    minor: true,
    cell: ({ task }) => task && <OwnerName owner={task.owner} />,
  },
  { name: texts.turn, width: "80px", minor: true, cell: ({ task }) => task?.lease?.attempt ?? "–" },
];

/** The executions of the process, running and waiting. */
export function ExecutionsTab(): ReactNode {
  const navigate = useNavigate();
  const list = usePages({
    key: ["executions"],
    read: (page, signal) => admin.listExecutions(page, { signal }),
    rowsOf: ({ executions }) => executions,
    every: EVERY,
  });
  return (
    <PagedRows
      list={list}
      icon={<Cpu size={28} aria-hidden="true" />}
      emptyTitle={texts.noneTitle}
      empty={texts.none}
      label={serverWords.tabs.executions}
      columns={columns}
      keyOf={({ task }) => task?.taskId ?? ""}
      onOpen={({ task }) => task && void navigate({ to: "/operate/tasks/$taskId", params: { taskId: task.taskId } })}
    />
  );
}
