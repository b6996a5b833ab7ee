import type { AuditRecord } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { operateWords } from "../../texts/operate.js";
import { css, Time } from "../../ui/parts.js";
import type { Column } from "../../ui/rows.js";
import { TaskLink } from "../shared/names.js";
import { dateOf } from "../tasks/task-row.js";
import { OutcomeBadge } from "./outcome.js";

const { audit: texts } = operateWords;

const joinNonEmpty = (...each: readonly string[]): string => each.filter((text) => text !== "").join(" · ");

/** Returns the actor: an operator, a caller or the server itself. */
function whoOf({ operator, subject, owner, address }: AuditRecord): string {
  return joinNonEmpty(operator || subject || owner, address) || texts.server;
}

function whatOf({ target, taskId, agent, key, use }: AuditRecord): string {
  return target || taskId || joinNonEmpty(agent, use, key);
}

export const auditColumns: readonly Column<AuditRecord>[] = [
  { name: texts.time, width: "116px", cell: ({ at }) => <Time at={dateOf(at)} /> },
  { name: texts.outcome, width: "84px", cell: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
  {
    name: texts.event,
    width: "minmax(0, 1.3fr)",
    cell: ({ event, count }) => (
      <span title={event}>
        <span className={css.mono}>{event}</span>{" "}
        {count > 1n && <span className={css.soft}>{texts.times(Number(count))}</span>}
      </span>
    ),
  },
  { name: texts.who, width: "minmax(0, 1.3fr)", cell: (record) => <span title={whoOf(record)}>{whoOf(record)}</span> },
  { name: texts.method, width: "minmax(0, 1fr)", minor: true, cell: ({ method }) => method || "–" },
  {
    name: texts.why,
    width: "minmax(0, 1.2fr)",
    minor: true,
    cell: ({ reason, limit }) => <span title={joinNonEmpty(reason, limit)}>{joinNonEmpty(reason, limit) || "–"}</span>,
  },
  {
    name: texts.what,
    width: "minmax(0, 1.2fr)",
    minor: true,
    cell: (record) =>
      record.taskId === "" ? (
        <span title={whatOf(record)}>{whatOf(record) || "–"}</span>
      ) : (
        <TaskLink id={record.taskId}>{whatOf(record)}</TaskLink>
      ),
  },
];
