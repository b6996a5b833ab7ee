import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Trash2, Users } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import type { OwnerUsage } from "../../../gen/parley/admin/v1/admin_pb.js";
import { admin } from "../api/admin.js";
import { operateWords } from "../texts/operate.js";
import { numberText } from "../ui/format.js";
import { Badge, css, PageHead, Time } from "../ui/parts.js";
import type { Column } from "../ui/rows.js";
import { DeleteDialog, shownName } from "./owners/delete-dialog.js";
import page from "./owners/owners.module.css";
import { TenantCards } from "./owners/tenant-cards.js";
import { FilterField } from "./shared/fields.js";
import { namedFilter } from "./shared/filter.js";
import { OwnerName, TenantName } from "./shared/names.js";
import { PagedRows } from "./shared/paged-list.js";
import { usePages } from "./shared/pages.js";
import { WriteButton } from "./shared/write-button.js";
import { textOfName } from "./tasks/filter.js";
import { dateOf } from "./tasks/task-row.js";

const { owners: texts } = operateWords;

/** Milliseconds between reads. */
const EVERY = 10_000;

function ownerColumns(onDelete: (usage: OwnerUsage) => void): readonly Column<OwnerUsage>[] {
  return [
    { name: operateWords.owner, width: "minmax(72px, 1.4fr)", cell: ({ owner }) => <OwnerName owner={owner} /> },
    {
      name: operateWords.tenant,
      width: "minmax(48px, 1fr)",
      minor: true,
      cell: ({ tenant }) => <TenantName tenant={tenant} />,
    },
    { name: texts.tasks, width: "46px", minor: true, cell: ({ tasks }) => numberText(tasks) },
    {
      name: texts.open,
      width: "44px",
      minor: true,
      cell: ({ openTasks }) => (openTasks > 0n ? <Badge tone="busy">{numberText(openTasks)}</Badge> : "–"),
    },
    { name: texts.configs, width: "72px", minor: true, cell: ({ pushConfigs }) => numberText(pushConfigs) },
    { name: texts.latest, width: "64px", cell: ({ statusTime }) => <Time at={dateOf(statusTime)} /> },
    { name: texts.actions, width: "226px", cell: (usage) => <Links usage={usage} /> },
    {
      name: texts.remove,
      isNameHidden: true,
      width: "34px",
      cell: (usage) => (
        <WriteButton kind="plain" icon title={texts.removeOf(shownName(usage.owner))} onClick={() => onDelete(usage)}>
          <Trash2 size={15} aria-hidden="true" />
        </WriteButton>
      ),
    },
  ];
}

/** Links to everything else of an owner. */
function Links({ usage: { owner, tenant } }: { readonly usage: OwnerUsage }): ReactNode {
  const search = { owner: textOfName(owner), tenant: textOfName(tenant) };
  return (
    <span className={page.links}>
      <Link to="/operate/tasks" search={search}>
        {operateWords.tasks}
      </Link>
      <Link to="/operate/conversations" search={search}>
        {texts.conversations}
      </Link>
      <Link to="/operate/deliveries" search={search}>
        {texts.deliveries}
      </Link>
    </span>
  );
}

/** Owners and tenants with their usage. */
export default function Page(): ReactNode {
  const { tenant } = useSearch({ from: "/operate/owners" });
  const navigate = useNavigate({ from: "/operate/owners" });
  const [asked, setAsked] = useState<OwnerUsage>();
  const columns = useMemo(() => ownerColumns(setAsked), []);
  const filter = namedFilter({ tenant });
  const list = usePages({
    key: ["owners", filter],
    read: (paged, signal) => admin.listOwners({ ...filter, ...paged }, { signal }),
    rowsOf: ({ owners }) => owners,
    every: EVERY,
  });
  return (
    <div className={css.page}>
      <PageHead title={texts.title} about={texts.about} />
      <search className={css.row} aria-label={operateWords.filter}>
        <FilterField
          isSearch
          label={operateWords.tenant}
          placeholder={operateWords.emptyTenant}
          value={tenant}
          onValue={(value) => void navigate({ search: { tenant: value }, replace: true })}
        />
      </search>
      {list.rows !== undefined && <TenantCards rows={list.rows} />}
      <PagedRows
        list={list}
        icon={<Users size={28} aria-hidden="true" />}
        emptyTitle={texts.noneTitle}
        empty={tenant === undefined ? texts.none : texts.noMatch}
        label={texts.title}
        columns={columns}
        keyOf={(usage) => JSON.stringify([usage.tenant, usage.owner])}
      />
      <DeleteDialog usage={asked} onClose={() => setAsked(undefined)} />
    </div>
  );
}
