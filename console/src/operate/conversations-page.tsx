import { useNavigate, useSearch } from "@tanstack/react-router";
import { MessagesSquare } from "lucide-react";
import type { ReactNode } from "react";
import type { ContextSummary } from "../../../gen/parley/admin/v1/admin_pb.js";
import { admin } from "../api/admin.js";
import { operateWords } from "../texts/operate.js";
import { numberText } from "../ui/format.js";
import { Badge, Bytes, css, PageHead, Time } from "../ui/parts.js";
import type { Column } from "../ui/rows.js";
import { namedFilter } from "./shared/filter.js";
import { NameFilters, type NameSearch } from "./shared/name-filters.js";
import { ConversationLink, OwnerName, TenantName } from "./shared/names.js";
import { PagedRows } from "./shared/paged-list.js";
import { usePages } from "./shared/pages.js";
import { textOfName } from "./tasks/filter.js";
import { dateOf } from "./tasks/task-row.js";

const { conversations: texts } = operateWords;

/** Milliseconds between reads. */
const EVERY = 10_000;

const columns: readonly Column<ContextSummary>[] = [
  {
    name: texts.id,
    width: "minmax(0, 2fr)",
    cell: ({ contextId, owner, tenant }) => (
      <span className={css.mono}>
        <ConversationLink context={contextId} owner={owner} tenant={tenant} />
      </span>
    ),
  },
  { name: texts.latest, width: "120px", cell: ({ statusTime }) => <Time at={dateOf(statusTime)} /> },
  { name: operateWords.owner, width: "minmax(0, 1fr)", cell: ({ owner }) => <OwnerName owner={owner} /> },
  {
    name: operateWords.tenant,
    width: "minmax(0, 1fr)",
    minor: true,
    cell: ({ tenant }) => <TenantName tenant={tenant} />,
  },
  { name: operateWords.tasks, width: "70px", minor: true, cell: ({ tasks }) => numberText(tasks) },
  {
    name: texts.open,
    width: "70px",
    cell: ({ openTasks }) => (openTasks > 0n ? <Badge tone="busy">{numberText(openTasks)}</Badge> : "–"),
  },
  {
    name: texts.stored,
    width: "100px",
    minor: true,
    cell: ({ stateBytes }) => (stateBytes > 0n ? <Bytes size={stateBytes} /> : "–"),
  },
];

/** The conversations of all owners. */
export default function Page(): ReactNode {
  const search = useSearch({ from: "/operate/conversations" });
  const navigate = useNavigate({ from: "/operate/conversations" });
  const filter = namedFilter(search);
  const list = usePages({
    key: ["conversations", filter],
    read: (page, signal) => admin.listContexts({ ...filter, ...page }, { signal }),
    rowsOf: ({ contexts }) => contexts,
    every: EVERY,
  });
  const change = (changed: NameSearch): void =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true });
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <div className={css.page}>
      <PageHead title={texts.title} about={texts.about} />
      <search className={css.row} aria-label={operateWords.filter}>
        <NameFilters search={search} onChange={change} />
      </search>
      <PagedRows
        list={list}
        icon={<MessagesSquare size={28} aria-hidden="true" />}
        emptyTitle={texts.noneTitle}
        empty={isFiltered ? texts.noMatch : texts.none}
        label={texts.title}
        columns={columns}
        keyOf={({ contextId, owner, tenant }) => JSON.stringify([tenant, owner, contextId])}
        onOpen={({ contextId, owner, tenant }) =>
          void navigate({
            to: "/operate/conversations/$contextId",
            params: { contextId },
            search: { owner: textOfName(owner), tenant: textOfName(tenant) },
          })
        }
      />
    </div>
  );
}
