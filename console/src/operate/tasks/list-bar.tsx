import { ArrowUp, RotateCw } from "lucide-react";
import type { ReactNode } from "react";
import { taskWords } from "../../texts/tasks.js";
import { Button, css } from "../../ui/parts.js";
import type { RequestedAction } from "./action-dialog.js";
import page from "./tasks.module.css";
import type { TaskList } from "./use-task-list.js";

/** New tasks that are counted one by one. */
const MAX_HELD = 2_000;

interface ListBarProps {
  readonly list: TaskList;
  readonly chosen: ReadonlySet<string>;
  readonly mayWrite: boolean;
  readonly onClear: () => void;
  readonly onAsk: (asked: RequestedAction) => void;
}

/** The line above the list: its length, new tasks, and what can be done with the chosen ones. */
export function ListBar({ list, chosen, mayWrite, onClear, onAsk }: ListBarProps): ReactNode {
  const { rows, held, live, loadMore, reload } = list;
  return (
    <div className={page.bar}>
      <span className={`${css.soft} ${css.small}`} role="status">
        {chosen.size > 0 ? taskWords.selected(chosen.size) : taskWords.loaded(rows.length, loadMore === undefined)}
      </span>
      {held > 0 && (
        <Button onClick={() => showNew(live)}>
          <ArrowUp size={15} aria-hidden="true" />
          {taskWords.showNew(Math.min(held, MAX_HELD), held > MAX_HELD)}
        </Button>
      )}
      <span className={page.spacer} />
      {chosen.size > 0 && <Chosen ids={[...chosen]} mayWrite={mayWrite} onClear={onClear} onAsk={onAsk} />}
      <Button kind="plain" icon title={taskWords.reload} onClick={reload}>
        <RotateCw size={15} aria-hidden="true" />
      </Button>
    </div>
  );
}

/** Shows new tasks where they are. */
function showNew(live: TaskList["live"]): void {
  live.showHeld();
  document.querySelector("[data-rows]")?.scrollTo({ top: 0 });
}

interface ChosenProps extends Pick<ListBarProps, "mayWrite" | "onClear" | "onAsk"> {
  readonly ids: readonly string[];
}

function Chosen({ ids, mayWrite, onClear, onAsk }: ChosenProps): ReactNode {
  const reason = mayWrite ? undefined : taskWords.readOnly;
  return (
    <>
      {(["cancel", "fail", "delete"] as const).map((kind) => (
        <Button key={kind} kind="danger" disabled={!mayWrite} title={reason} onClick={() => onAsk({ kind, ids })}>
          {taskWords.act[kind]}
        </Button>
      ))}
      <Button onClick={() => onAsk({ kind: "export", ids })}>{taskWords.act.export}</Button>
      <Button kind="plain" onClick={onClear}>
        {taskWords.unselect}
      </Button>
    </>
  );
}
