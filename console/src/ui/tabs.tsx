import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { css } from "./parts.js";

/** Tabs of a page, each with an address: the search parameter `tab`. The first is shown without it. */
export function TabLinks({
  label,
  tabs,
  current,
}: {
  readonly label: string;
  readonly tabs: readonly (readonly [key: string, name: ReactNode])[];
  readonly current: string | undefined;
}): ReactNode {
  const shown = tabs.find(([key]) => key === current)?.[0] ?? tabs[0]?.[0];
  return (
    <nav className={css.tabs} aria-label={label}>
      {tabs.map(([key, name], index) => (
        <Link
          key={key}
          className={css.tab}
          to="."
          search={(search: Record<string, unknown>) => ({ ...search, tab: index === 0 ? undefined : key }) as never}
          replace
          activeOptions={{ exact: true, explicitUndefined: true }}
          aria-current={key === shown ? "page" : undefined}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}
