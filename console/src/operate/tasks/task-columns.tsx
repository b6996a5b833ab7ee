import { MoreHorizontal } from "lucide-react";
import type { ReactNode } from "react";
import { taskWords } from "../../texts/tasks.js";
import { numberText } from "../../ui/format.js";
import { Button, css, Time } from "../../ui/parts.js";
import type { Column } from "../../ui/rows.js";
import { StateBadge } from "../../ui/states.js";
import { TaskLink } from "../shared/names.js";
import type { TaskRow } from "./task-row.js";
import page from "./tasks.module.css";

interface ColumnsOf {
  readonly isChosen: (row: TaskRow) => boolean;
  readonly onChoose: (row: TaskRow) => void;
  readonly onMenu: (row: TaskRow, anchor: Element) => void;
}

/** The columns of the list of tasks. */
export function taskColumns({ isChosen, onChoose, onMenu }: ColumnsOf): readonly Column<TaskRow>[] {
  return [
    {
      name: taskWords.choose,
      isNameHidden: true,
      width: "24px",
      minor: true,
      cell: (row) => <Choice id={row.id} isChosen={isChosen(row)} onChoose={() => onChoose(row)} />,
    },
    { name: taskWords.state, width: "126px", cell: ({ state }) => <StateBadge state={state} /> },
    { name: taskWords.changed, width: "116px", cell: ({ at }) => <At at={at} /> },
    {
      name: taskWords.task,
      width: "minmax(0, 2fr)",
      cell: ({ id }) => <TaskLink id={id} className={page.id} tabIndex={-1} />,
    },
    {
      name: taskWords.agent,
      width: "minmax(0, 1fr)",
      minor: true,
      cell: ({ agent }) => <Name name={agent} empty={taskWords.noAgent} />,
    },
    {
      name: taskWords.owner,
      width: "minmax(0, 1fr)",
      minor: true,
      cell: ({ owner }) => <Name name={owner} empty={taskWords.anonymous} />,
    },
    {
      name: taskWords.tenant,
      width: "minmax(0, 0.6fr)",
      minor: true,
      cell: ({ tenant }) => <Name name={tenant} empty={taskWords.defaultTenant} />,
    },
    { name: taskWords.size, width: "90px", minor: true, cell: ({ generation }) => numberText(generation) },
    {
      name: taskWords.actions,
      isNameHidden: true,
      width: "32px",
      cell: (row) => (
        <Button
          kind="plain"
          icon
          className={page.rowButton}
          tabIndex={-1}
          title={taskWords.actionsOf(row.id)}
          aria-haspopup="menu"
          onClick={({ currentTarget }) => onMenu(row, currentTarget)}
        >
          <MoreHorizontal size={16} aria-hidden="true" />
        </Button>
      ),
    },
  ];
}

const At = ({ at }: { readonly at: number }): ReactNode => <Time at={at === 0 ? undefined : new Date(at)} />;

const Name = ({ name, empty }: { readonly name: string; readonly empty: string }): ReactNode =>
  name === "" ? <span className={css.soft}>{empty}</span> : <span title={name}>{name}</span>;

interface ChoiceProps {
  readonly id: string;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function Choice({ id, isChosen, onChoose }: ChoiceProps): ReactNode {
  return (
    <label className={page.choose}>
      <input
        type="checkbox"
        tabIndex={-1}
        checked={isChosen}
        aria-label={taskWords.chooseTask(id)}
        onChange={onChoose}
      />
    </label>
  );
}
