import type { ReactNode } from "react";
import { operateWords } from "../../texts/operate.js";
import { FilterField } from "./fields.js";

/** Names that a list is filtered by. */
export interface NameSearch {
  readonly tenant?: string | undefined;
  readonly owner?: string | undefined;
}

interface NameFiltersProps {
  readonly search: NameSearch;
  readonly onChange: (change: NameSearch) => void;
}

/** The fields for an owner and a tenant. */
export function NameFilters({ search, onChange }: NameFiltersProps): ReactNode {
  return (
    <>
      <FilterField
        isSearch
        label={operateWords.owner}
        placeholder={operateWords.emptyName}
        value={search.owner}
        onValue={(owner) => onChange({ owner })}
      />
      <FilterField
        label={operateWords.tenant}
        placeholder={operateWords.emptyTenant}
        value={search.tenant}
        onValue={(tenant) => onChange({ tenant })}
      />
    </>
  );
}
