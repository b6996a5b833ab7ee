import type { ReactNode } from "react";
import { ErrorNote } from "../../ui/error.js";
import { Empty, Skeleton } from "../../ui/parts.js";
import { Rows } from "../../ui/rows.js";
import type { PagedList } from "./pages.js";

interface PagedRowsProps<Row> extends Omit<Parameters<typeof Rows<Row>>[0], "rows" | "onEnd" | "isLoading"> {
  readonly list: PagedList<Row>;
  readonly icon: ReactNode;
  readonly emptyTitle: string;
  readonly empty: string;
}

/** A list of the operator's service in each of its states: loading, failed, empty, or with rows. */
export function PagedRows<Row>({ list, icon, emptyTitle, empty, ...rest }: PagedRowsProps<Row>): ReactNode {
  const { rows, error, more, isLoading, refresh } = list;
  return (
    <>
      {error !== null && <ErrorNote error={error} onRetry={refresh} />}
      {rows === undefined && error === null && <Skeleton lines={6} />}
      {rows?.length === 0 && (
        <Empty icon={icon} title={emptyTitle}>
          <p>{empty}</p>
        </Empty>
      )}
      {rows !== undefined && rows.length > 0 && <Rows {...rest} rows={rows} onEnd={more} isLoading={isLoading} />}
    </>
  );
}
