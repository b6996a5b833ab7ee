import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { OwnerUsage } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { operateWords } from "../../texts/operate.js";
import { css } from "../../ui/parts.js";
import { textOfName } from "../tasks/filter.js";
import page from "./owners.module.css";

const { owners: texts } = operateWords;

/** Most tenants that get a card; the list has all. */
const MAX_CARDS = 24;

interface TenantUse {
  owners: number;
  tasks: bigint;
  open: bigint;
}

function useOf(rows: readonly OwnerUsage[]): ReadonlyMap<string, TenantUse> {
  const tenants = new Map<string, TenantUse>();
  for (const { tenant, tasks, openTasks } of rows) {
    const use = tenants.get(tenant) ?? { owners: 0, tasks: 0n, open: 0n };
    use.owners += 1;
    use.tasks += tasks;
    use.open += openTasks;
    tenants.set(tenant, use);
  }
  return tenants;
}

/** The usage of each tenant whose owners are in the list, if there are several. */
export function TenantCards({ rows }: { readonly rows: readonly OwnerUsage[] }): ReactNode {
  const tenants = useOf(rows);
  if (tenants.size < 2) return undefined;
  return (
    <section aria-label={texts.tenants}>
      <ul className={page.cards}>
        {[...tenants].slice(0, MAX_CARDS).map(([tenant, { owners, tasks, open }]) => (
          <li key={tenant} className={css.card}>
            <h2>
              <Link to="/operate/owners" search={{ tenant: textOfName(tenant) }}>
                {tenant === "" ? operateWords.defaultTenant : tenant}
              </Link>
            </h2>
            <p className={`${css.soft} ${css.small}`}>
              {texts.owners(owners)}
              <br />
              {texts.ofTasks(Number(tasks), Number(open))}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
