import { useNavigate, useSearch } from "@tanstack/react-router";
import { Inbox, Upload } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { taskWords } from "../texts/tasks.js";
import { ErrorNote } from "../ui/error.js";
import { Button, css, Empty, Note, PageHead, Skeleton } from "../ui/parts.js";
import { Rows } from "../ui/rows.js";
import { useDrop } from "../ui/use-drop.js";
import { ActionDialog, type RequestedAction } from "./tasks/action-dialog.js";
import type { ChangeKind } from "./tasks/changes.js";
import { isOnlyForServer, type TaskSearch } from "./tasks/filter.js";
import { FilterBar } from "./tasks/filter-bar.js";
import { ImportDialog } from "./tasks/import-dialog.js";
import { ListBar } from "./tasks/list-bar.js";
import { LiveState } from "./tasks/live-state.js";
import { useMayWrite } from "./tasks/role.js";
import { taskColumns } from "./tasks/task-columns.js";
import { type MenuTarget, TaskMenu } from "./tasks/task-menu.js";
import type { TaskRow } from "./tasks/task-row.js";
import { MAX_TASKS, type TaskList, useTaskList } from "./tasks/use-task-list.js";

/** The tasks of all owners. */
export default function TasksPage(): ReactNode {
  const search: TaskSearch = useSearch({ from: "/operate/tasks" });
  const navigate = useNavigate({ from: "/operate/tasks" });
  const [isOn, setOn] = useState(true);
  const [files, setFiles] = useState<readonly File[]>();
  const list = useTaskList(search, isOn);
  const mayWrite = useMayWrite();
  const target = useDrop<HTMLDivElement>((dropped) => mayWrite && setFiles(dropped));
  const onChange = (change: TaskSearch): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true, resetScroll: false });
  return (
    <div ref={target} className={css.page}>
      <PageHead title={taskWords.title} about={taskWords.about}>
        <LiveState state={list.state} onToggle={() => setOn(!isOn)} />
        <Button disabled={!mayWrite} title={mayWrite ? undefined : taskWords.readOnly} onClick={() => setFiles([])}>
          <Upload size={15} aria-hidden="true" />
          {taskWords.act.import}
        </Button>
      </PageHead>
      <FilterBar search={search} onChange={onChange} />
      <List key={JSON.stringify(search)} list={list} search={search} mayWrite={mayWrite} />
      {files !== undefined && (
        <ImportDialog
          files={files}
          onFiles={setFiles}
          onClose={() => setFiles(undefined)}
          onImported={(row) => list.live.take(row, true)}
        />
      )}
    </div>
  );
}

interface ListProps {
  readonly list: TaskList;
  readonly search: TaskSearch;
  readonly mayWrite: boolean;
}

function List({ list, search, mayWrite }: ListProps): ReactNode {
  const { rows, live } = list;
  const navigate = useNavigate();
  const { chosen, toggle, clear } = useChosen();
  const [asked, setAsked] = useState<RequestedAction>();
  const [menu, setMenu] = useState<MenuTarget>();
  const columns = useMemo(
    () =>
      taskColumns({
        isChosen: ({ id }) => chosen.has(id),
        onChoose: ({ id }) => toggle(id),
        onMenu: (row, anchor) => setMenu({ row, anchor }),
      }),
    [chosen, toggle],
  );
  const onChanged = (kind: ChangeKind, id: string, row: TaskRow | undefined): void => {
    if (row !== undefined) live.take(row);
    else if (kind === "delete") live.remove(id);
    if (kind !== "export") clear();
  };
  if (list.error !== null && rows.length === 0) return <ErrorNote error={list.error} onRetry={list.reload} />;
  if (list.isFirst) return <Skeleton lines={8} />;
  return (
    <>
      <ListBar list={list} chosen={chosen} mayWrite={mayWrite} onClear={clear} onAsk={setAsked} />
      {rows.length === 0 ? (
        <NoTasks list={list} search={search} />
      ) : (
        <Rows
          label={taskWords.list}
          rows={rows}
          columns={columns}
          keyOf={idOf}
          now={(row) => live.now(row)}
          onOpen={({ id }) => void navigate({ to: "/operate/tasks/$taskId", params: { taskId: id } })}
          onEnd={list.loadMore}
          isLoading={list.isLoading}
          onChoose={({ id }) => toggle(id)}
          isChosen={({ id }) => chosen.has(id)}
          onStart={(isAtStart) => {
            live.isHolding = !isAtStart;
            if (isAtStart) live.showHeld();
          }}
        />
      )}
      {isOnlyForServer(search) && <p className={`${css.soft} ${css.small}`}>{taskWords.serverOnly}</p>}
      {list.isCut && <Note tone="wait">{taskWords.cut(MAX_TASKS)}</Note>}
      {list.error !== null && rows.length > 0 && <ErrorNote error={list.error} onRetry={list.reload} />}
      <TaskMenu
        target={menu}
        mayWrite={mayWrite}
        onClose={() => setMenu(undefined)}
        onAsk={(kind, { id }) => setAsked({ kind, ids: [id] })}
      />
      <ActionDialog asked={asked} onClose={() => setAsked(undefined)} onChanged={onChanged} />
    </>
  );
}

const idOf = ({ id }: TaskRow): string => id;

/** The ids of the rows that were chosen. */
function useChosen() {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  return useMemo(
    () => ({
      chosen,
      toggle: (id: string): void =>
        setChosen((before) => {
          const after = new Set(before);
          if (!after.delete(id)) after.add(id);
          return after;
        }),
      clear: (): void => setChosen(new Set()),
    }),
    [chosen],
  );
}

function NoTasks({ list, search }: Pick<ListProps, "list" | "search">): ReactNode {
  const { loadMore, isLoading } = list;
  // The server examines a limited number of tasks for each page.
  if (loadMore !== undefined || isLoading) return <Searching list={list} />;
  const isFiltered = Object.keys(search).length > 0;
  return (
    <Empty icon={<Inbox size={36} aria-hidden="true" />} title={isFiltered ? taskWords.noMatch : taskWords.empty}>
      <p>{isFiltered ? taskWords.noMatchHint : taskWords.emptyHint}</p>
    </Empty>
  );
}

function Searching({ list: { loadMore, isLoading } }: Pick<ListProps, "list">): ReactNode {
  useEffect(() => {
    if (!isLoading) loadMore?.();
  }, [loadMore, isLoading]);
  return <p role="status">{taskWords.searching}</p>;
}
