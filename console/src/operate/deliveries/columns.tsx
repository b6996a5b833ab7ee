import { type Delivery, DeliveryState } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { operateWords } from "../../texts/operate.js";
import { numberText } from "../../ui/format.js";
import { Badge, css, Time } from "../../ui/parts.js";
import type { Column } from "../../ui/rows.js";
import { OwnerName, TaskLink } from "../shared/names.js";
import { dateOf } from "../tasks/task-row.js";
import { tones } from "./delivery.js";

const { deliveries: texts } = operateWords;

interface ColumnsOf {
  readonly isChosen: (delivery: Delivery) => boolean;
  readonly onChoose: (delivery: Delivery) => void;
}

/** The columns of the list of deliveries. Only dead ones can be chosen, as nothing else is done to several. */
export function deliveryColumns({ isChosen, onChoose }: ColumnsOf): readonly Column<Delivery>[] {
  return [
    {
      name: texts.select,
      isNameHidden: true,
      width: "24px",
      minor: true,
      cell: (delivery) =>
        delivery.state === DeliveryState.DEAD && (
          <input
            type="checkbox"
            tabIndex={-1}
            checked={isChosen(delivery)}
            aria-label={texts.selectOne(delivery.configId, delivery.taskId)}
            onChange={() => onChoose(delivery)}
          />
        ),
    },
    {
      name: operateWords.state,
      width: "96px",
      cell: ({ state }) => <Badge tone={tones[state]}>{texts.states[state]}</Badge>,
    },
    { name: texts.target, width: "minmax(0, 1.4fr)", cell: ({ target }) => <span title={target}>{target}</span> },
    { name: operateWords.task, width: "minmax(0, 1.2fr)", cell: ({ taskId }) => <TaskLink id={taskId} /> },
    {
      name: operateWords.owner,
      width: "minmax(0, 0.8fr)",
      minor: true,
      cell: ({ owner }) => <OwnerName owner={owner} />,
    },
    { name: texts.failed, width: "116px", minor: true, cell: ({ attempts }) => numberText(attempts) },
    {
      name: texts.at,
      width: "110px",
      minor: true,
      cell: ({ at, state }) => <Time at={state === DeliveryState.IDLE ? undefined : dateOf(at)} />,
    },
    {
      name: texts.failure,
      width: "minmax(0, 1.4fr)",
      minor: true,
      cell: ({ failure }) => (
        <span className={css.soft} title={failure}>
          {failure === "" ? "–" : failure}
        </span>
      ),
    },
  ];
}
