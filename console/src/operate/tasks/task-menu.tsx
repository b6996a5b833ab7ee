import { Menu } from "@base-ui/react/menu";
import { Ban, Download, OctagonX, Trash2 } from "lucide-react";
import { type ReactNode, useRef } from "react";
import type { TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { isTerminal } from "../../../../src/task/state.js";
import { taskWords } from "../../texts/tasks.js";
import { css } from "../../ui/parts.js";
import type { ChangeKind } from "./changes.js";
import type { TaskRow } from "./task-row.js";

const icons = { cancel: Ban, fail: OctagonX, export: Download, delete: Trash2 };
const kinds: readonly ChangeKind[] = ["cancel", "fail", "export", "delete"];

/** Returns the reason why a change is not offered; undefined if it is. */
export function refusalOf(
  kind: ChangeKind,
  state: TaskState,
  mayWrite: boolean,
  isDamaged = false,
): string | undefined {
  if (isDamaged && kind !== "delete") return taskWords.damaged;
  if (kind === "export") return undefined;
  if (!mayWrite) return taskWords.readOnly;
  const isOver = isTerminal(state);
  if (kind === "delete") return isOver || isDamaged ? undefined : taskWords.notOver;
  return isOver ? taskWords.overAlready : undefined;
}

/** A row whose menu is open, and its button. */
export interface MenuTarget {
  readonly row: TaskRow;
  readonly anchor: Element;
}

interface TaskMenuProps {
  readonly target: MenuTarget | undefined;
  readonly mayWrite: boolean;
  readonly onClose: () => void;
  readonly onAsk: (kind: ChangeKind, row: TaskRow) => void;
}

/** The menu of a row's actions, one for all rows. Those that are not possible say why. */
export function TaskMenu({ target, mayWrite, onClose, onAsk }: TaskMenuProps): ReactNode {
  const last = useRef(target);
  if (target !== undefined) last.current = target;
  const shown = last.current;
  if (shown === undefined) return undefined;
  const { row, anchor } = shown;
  return (
    <Menu.Root open={target !== undefined} onOpenChange={(open) => !open && onClose()}>
      <Menu.Portal container={document.getElementById("main")}>
        <Menu.Positioner anchor={anchor} align="end" sideOffset={4} style={{ zIndex: 20 }}>
          <Menu.Popup className={css.menu} aria-label={taskWords.actionsOf(row.id)} finalFocus={() => gridOf(anchor)}>
            {kinds.map((kind) => {
              const refusal = refusalOf(kind, row.state, mayWrite);
              return <ActionItem key={kind} kind={kind} refusal={refusal} onAsk={() => onAsk(kind, row)} />;
            })}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

/** The focus goes back to the list, which has the keys. */
const gridOf = (anchor: Element): HTMLElement | null => anchor.closest<HTMLElement>("[data-rows]");

interface ActionItemProps {
  readonly kind: ChangeKind;
  readonly refusal: string | undefined;
  readonly onAsk: () => void;
}

function ActionItem({ kind, refusal, onAsk }: ActionItemProps): ReactNode {
  const Icon = icons[kind];
  return (
    <Menu.Item className={css.item} disabled={refusal !== undefined} title={refusal} onClick={onAsk}>
      <Icon size={15} aria-hidden="true" />
      <span>
        {taskWords.act[kind]}
        {refusal !== undefined && <span className={`${css.soft} ${css.small}`}> · {refusal}</span>}
      </span>
    </Menu.Item>
  );
}
