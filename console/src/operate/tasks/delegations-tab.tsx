import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Network } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import type { GetTaskResponse } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { isTerminal } from "../../../../src/task/state.js";
import { admin } from "../../api/admin.js";
import { absolute } from "../../api/agents.js";
import { taskPageWords } from "../../texts/task.js";
import { clockTime, durationText } from "../../ui/format.js";
import { Button, css, Empty, Skeleton } from "../../ui/parts.js";
import { StateBadge } from "../../ui/states.js";
import { type Delegation, delegationsOf } from "./delegation-tree.js";
import { useSession } from "./role.js";
import { ScanState } from "./scan-state.js";
import page from "./task.module.css";
import { TaskLog } from "./task-log.js";
import { useScan } from "./use-scan.js";

/** Levels that open by themselves, and all that can be opened. */
const OPEN_LEVELS = 3;
const MAX_LEVELS = 12;

const { delegations: texts } = taskPageWords;

/** The tree of a task's sub-tasks. */
export function DelegationsTab({ log }: { readonly log: TaskLog }): ReactNode {
  const scan = useScan(log);
  const delegations = useMemo(() => delegationsOf(scan.entries), [scan.entries]);
  return (
    <>
      <ScanState scan={scan} log={log} />
      {delegations.length === 0 ? (
        <NoDelegations isReading={scan.isReading} />
      ) : (
        <Branches label={texts.label} delegations={delegations} level={1} />
      )}
    </>
  );
}

function NoDelegations({ isReading }: { readonly isReading: boolean }): ReactNode {
  if (isReading) return <Skeleton />;
  return (
    <Empty icon={<Network size={36} aria-hidden="true" />} title={texts.none}>
      {texts.noneHint}
    </Empty>
  );
}

interface BranchesProps {
  readonly label: string;
  readonly delegations: readonly Delegation[];
  readonly level: number;
}

function Branches({ label, delegations, level }: BranchesProps): ReactNode {
  return (
    <ul className={page.tree} aria-label={label}>
      {delegations.map((delegation) => (
        <Branch key={delegation.key} delegation={delegation} level={level} />
      ))}
    </ul>
  );
}

interface BranchProps {
  readonly delegation: Delegation;
  readonly level: number;
}

function Branch({ delegation, level }: BranchProps): ReactNode {
  const { agent, taskId, state, from, to, below } = delegation;
  const known = useKnown(taskId);
  const summary = known?.summary;
  return (
    <li>
      <div className={page.node}>
        <StateBadge state={summary?.state ?? state} />
        {summary === undefined && <span className={`${css.soft} ${css.small}`}>{texts.lastSeen}</span>}
        <strong className={page.break}>{agent}</strong>
        {taskId === "" ? (
          <span className={css.soft}>{texts.direct}</span>
        ) : (
          <span className={`${css.mono} ${page.break}`}>{taskId}</span>
        )}
        <span className={`${css.soft} ${css.small}`}>
          {texts.began(clockTime(new Date(from)))} · {durationText(to - from)}
        </span>
        <Way agent={agent} taskId={taskId} isKnown={summary !== undefined} />
      </div>
      {summary !== undefined ? (
        <Below taskId={summary.taskId} total={summary.position} level={level + 1} />
      ) : (
        below.length > 0 && <Branches label={agent} delegations={below} level={level + 1} />
      )}
    </li>
  );
}

/** Interval at which an open sub-task is read again, in milliseconds. */
const AGAIN_MS = 2_000;

/** Returns a task of another agent if this server has it; its own agents may call each other. */
function useKnown(taskId: string): GetTaskResponse | undefined {
  const { data } = useQuery({
    queryKey: ["operate", "sub-task", taskId],
    queryFn: ({ signal }) => admin.getTask({ taskId, maxEntries: 1 }, { signal }),
    enabled: taskId !== "",
    retry: false,
    structuralSharing: false,
    refetchInterval: ({ state: { data } }) =>
      data?.summary !== undefined && !isTerminal(data.summary.state) && AGAIN_MS,
  });
  return data;
}

/** The way to a sub-task: to its page here, or to its agent. */
function Way({
  agent,
  taskId,
  isKnown,
}: {
  readonly agent: string;
  readonly taskId: string;
  readonly isKnown: boolean;
}): ReactNode {
  const url = useAgentUrl(agent);
  if (isKnown) {
    return (
      <Link to="/operate/tasks/$taskId" params={{ taskId }}>
        {texts.openHere}
      </Link>
    );
  }
  if (taskId === "" || url === undefined) return undefined;
  return (
    <Link to="/talk" search={{ agent: url, task: taskId }}>
      {texts.talk}
    </Link>
  );
}

/** Returns the URL of an agent that is named by it, or that the console knows by its name. */
function useAgentUrl(agent: string): string | undefined {
  const session = useSession();
  if (/^https?:\/\//i.test(agent) && URL.canParse(agent)) return agent;
  const named = session?.agents.find(({ name }) => name === agent);
  return named && absolute(named.url);
}

interface BelowProps {
  readonly taskId: string;
  readonly total: number;
  readonly level: number;
}

/** The sub-tasks of a sub-task that this server has. */
function Below({ taskId, total, level }: BelowProps): ReactNode {
  const [isOpen, setOpen] = useState(level <= OPEN_LEVELS);
  if (level > MAX_LEVELS) return <p className={css.soft}>{texts.cut}</p>;
  if (!isOpen) return <Button onClick={() => setOpen(true)}>{texts.deeper}</Button>;
  return <OpenBelow taskId={taskId} total={total} level={level} />;
}

function OpenBelow({ taskId, total, level }: BelowProps): ReactNode {
  const log = useMemo(() => new TaskLog(taskId), [taskId]);
  useEffect(() => log.reach(total), [log, total]);
  const { entries } = useScan(log);
  const delegations = useMemo(() => delegationsOf(entries), [entries]);
  return delegations.length === 0 ? undefined : <Branches label={taskId} delegations={delegations} level={level} />;
}
