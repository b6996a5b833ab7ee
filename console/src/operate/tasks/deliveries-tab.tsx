import { Link } from "@tanstack/react-router";
import { Send } from "lucide-react";
import type { ReactNode } from "react";
import { type Delivery, DeliveryState } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { taskPageWords } from "../../texts/task.js";
import { Badge, Empty, Time, type Tone } from "../../ui/parts.js";
import { type Column, Rows } from "../../ui/rows.js";
import { dateOf } from "./task-row.js";

const { deliveries: texts } = taskPageWords;

const tones: Record<DeliveryState, Tone | undefined> = {
  [DeliveryState.UNSPECIFIED]: undefined,
  [DeliveryState.IDLE]: "good",
  [DeliveryState.DUE]: "wait",
  [DeliveryState.DEAD]: "bad",
};

const columns: readonly Column<Delivery>[] = [
  {
    name: texts.state,
    width: "110px",
    cell: ({ state }) => <Badge tone={tones[state]}>{texts.states[state]}</Badge>,
  },
  { name: texts.target, width: "minmax(0, 2fr)", cell: ({ target }) => target },
  { name: texts.position, width: "120px", cell: ({ position, headPosition }) => texts.of(position, headPosition) },
  { name: texts.attempts, width: "90px", minor: true, cell: ({ attempts }) => attempts },
  {
    name: texts.failure,
    width: "minmax(0, 2fr)",
    minor: true,
    cell: ({ failure }) => <span title={failure}>{failure}</span>,
  },
  { name: texts.next, width: "120px", minor: true, cell: ({ at }) => <Time at={dateOf(at)} /> },
  {
    name: texts.open,
    width: "80px",
    cell: ({ taskId, configId }) => (
      <Link to="/operate/deliveries" search={{ task: taskId, open: configId }}>
        {texts.open}
      </Link>
    ),
  },
];

/** The push configurations of a task. */
export function DeliveriesTab({ deliveries }: { readonly deliveries: readonly Delivery[] }): ReactNode {
  if (deliveries.length === 0) {
    return (
      <Empty icon={<Send size={36} aria-hidden="true" />} title={texts.none}>
        {texts.noneHint}
      </Empty>
    );
  }
  return <Rows label={texts.label} rows={deliveries} columns={columns} keyOf={({ configId }) => configId} />;
}
