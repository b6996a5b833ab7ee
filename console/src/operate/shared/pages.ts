import { type InfiniteData, keepPreviousData, type QueryKey, useInfiniteQuery } from "@tanstack/react-query";

interface PageRequest {
  readonly pageToken: string;
  readonly pageSize: number;
}

interface Paged<Page, Row> {
  readonly key: QueryKey;
  readonly read: (page: PageRequest, signal: AbortSignal) => Promise<Page>;
  readonly rowsOf: (page: Page) => readonly Row[];
  /** Milliseconds between reads while the first page is all that is shown. */
  readonly every: number;
}

/** State of a list. */
export interface PagedList<Row> {
  /** Undefined until the first page is there. */
  readonly rows: readonly Row[] | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  /** Reads the next page; undefined after the last. */
  readonly more: (() => void) | undefined;
  readonly refresh: () => void;
}

/** Rows on a page. */
const PAGE_SIZE = 100;

/** Reads a list of the operator's service page by page. */
export function usePages<Page extends { readonly nextPageToken: string }, Row>({
  key,
  read,
  rowsOf,
  every,
}: Paged<Page, Row>): PagedList<Row> {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read({ pageToken: pageParam, pageSize: PAGE_SIZE }, signal),
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }) => (nextPageToken === "" ? undefined : nextPageToken),
    // Pages stay still once the reader has gone on.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : every),
    placeholderData: keepPreviousData,
    select: ({ pages }: InfiniteData<Page>) => pages.flatMap(rowsOf),
  });
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } = query;
  return {
    rows: data,
    error,
    isLoading: isFetchingNextPage,
    more: hasNextPage ? () => void fetchNextPage() : undefined,
    refresh: () => void refetch(),
  };
}

/** Reads all pages of a list, up to a number of rows. */
export async function readAll<Page extends { readonly nextPageToken: string }, Row>(
  read: (page: PageRequest) => Promise<Page>,
  rowsOf: (page: Page) => readonly Row[],
  max: number,
): Promise<{ readonly rows: readonly Row[]; readonly isCut: boolean }> {
  const rows: Row[] = [];
  for (let pageToken = ""; ; ) {
    const page = await read({ pageToken, pageSize: 1_000 });
    rows.push(...rowsOf(page));
    pageToken = page.nextPageToken;
    if (pageToken === "") return { rows, isCut: false };
    if (rows.length >= max) return { rows, isCut: true };
  }
}
