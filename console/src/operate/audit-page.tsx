import { useNavigate, useSearch } from "@tanstack/react-router";
import { ScrollText } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { AuditRecord } from "../../../gen/parley/admin/v1/admin_pb.js";
import { admin } from "../api/admin.js";
import { operateWords } from "../texts/operate.js";
import { css, PageHead } from "../ui/parts.js";
import { TabLinks } from "../ui/tabs.js";
import { auditColumns } from "./audit/columns.js";
import { RecordDialog } from "./audit/record-dialog.js";
import { FilterField } from "./shared/fields.js";
import { namedFilter } from "./shared/filter.js";
import { PagedRows } from "./shared/paged-list.js";
import { usePages } from "./shared/pages.js";

const { audit: texts } = operateWords;

/** Milliseconds between reads. */
const EVERY = 5_000;

/** Content of each tab. */
const filters: Readonly<Record<string, { readonly events?: string[]; readonly outcomes?: string[] }>> = {
  refused: { outcomes: ["denied"] },
  operators: { events: ["admin.write", "admin.login"] },
  server: {
    events: [
      ...["server.started", "server.stopped", "audit.lost", "key.used", "key.rotated"],
      ...["tls.reloaded", "tls.reload-failed", "tls.expiring"],
      ...["push.circuit-opened", "push.dead-lettered", "push.redriven"],
    ],
  },
};

/** Records have no id. Those of the same time differ in their facts. */
const keyOf = ({ at, event, requestId, target, method, outcome, address }: AuditRecord): string =>
  JSON.stringify([String(at?.seconds), at?.nanos, event, requestId, target, method, outcome, address]);

/** Lists refusals, operators' changes and events of the server. */
export default function Page(): ReactNode {
  const search = useSearch({ from: "/operate/audit" });
  const navigate = useNavigate({ from: "/operate/audit" });
  const [open, setOpen] = useState<AuditRecord>();
  const filter = { ...filters[search.tab ?? ""], ...namedFilter({ owner: search.owner }) };
  const list = usePages({
    key: ["audit", filter],
    read: (page, signal) => admin.listAuditRecords({ ...filter, ...page }, { signal }),
    rowsOf: ({ records }) => records,
    every: EVERY,
  });
  return (
    <div className={css.page}>
      <PageHead title={texts.title} about={texts.about} />
      <TabLinks label={texts.title} tabs={Object.entries(texts.tabs)} current={search.tab} />
      <search className={css.row} aria-label={operateWords.filter}>
        <FilterField
          isSearch
          label={operateWords.owner}
          placeholder={operateWords.emptyName}
          value={search.owner}
          onValue={(owner) => void navigate({ search: (before) => ({ ...before, owner }), replace: true })}
        />
      </search>
      <PagedRows
        list={list}
        icon={<ScrollText size={28} aria-hidden="true" />}
        emptyTitle={texts.noneTitle}
        empty={texts.none}
        label={texts.title}
        columns={auditColumns}
        keyOf={keyOf}
        onOpen={setOpen}
      />
      <RecordDialog record={open} onClose={() => setOpen(undefined)} />
    </div>
  );
}
