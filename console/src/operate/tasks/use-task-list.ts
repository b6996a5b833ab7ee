import { type InfiniteData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useSyncExternalStore } from "react";
import { admin } from "../../api/admin.js";
import { filterOf, isOnlyForServer, matches, type TaskSearch } from "./filter.js";
import { type FollowState, useFollow } from "./follow.js";
import { type Changes, LiveTasks } from "./live-tasks.js";
import { rowOf, type TaskRow } from "./task-row.js";

/** Tasks of one page. */
const PAGE = 500;

/** Tasks of a page that is read again after the stream was cut. */
const CATCH_UP = 200;

/** Most tasks that the page keeps. */
export const MAX_TASKS = 200_000;

interface Page {
  readonly rows: readonly TaskRow[];
  readonly next: string;
}

type Pages = InfiniteData<Page, unknown>;

/** The list of tasks, which follows their changes. */
export interface TaskList {
  readonly rows: readonly TaskRow[];
  readonly live: LiveTasks;
  /** Number of new tasks that wait to be shown. */
  readonly held: number;
  readonly state: FollowState;
  readonly error: Error | null;
  readonly isFirst: boolean;
  readonly isLoading: boolean;
  /** True if there are more tasks than the page keeps. */
  readonly isCut: boolean;
  readonly loadMore: (() => void) | undefined;
  readonly reload: () => void;
}

async function readPage(search: TaskSearch, pageToken: string, pageSize: number, signal: AbortSignal): Promise<Page> {
  const answer = await admin.listTasks({ ...filterOf(search), pageToken, pageSize }, { signal });
  return { rows: answer.tasks.map(rowOf), next: answer.nextPageToken };
}

const keyOf = (search: TaskSearch) => ["operate", "tasks", search] as const;

export function useTaskList(search: TaskSearch, isOn: boolean): TaskList {
  const queries = useQueryClient();
  const key = JSON.stringify(search);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each filter has its own changes.
  const live = useMemo(() => new LiveTasks(), [key]);
  const pages = useInfiniteQuery({
    queryKey: keyOf(search),
    queryFn: ({ pageParam, signal }) => readPage(search, pageParam, PAGE, signal),
    initialPageParam: "",
    getNextPageParam: ({ next }, all) => (next === "" || all.length * PAGE >= MAX_TASKS ? undefined : next),
    // The stream keeps them up to date. Comparing 100,000 rows with each page would take long.
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
  });
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = pages;
  const changes = useSyncExternalStore(live.subscribe, live.get);
  const reload = (): void => {
    live.clear();
    void queries.resetQueries({ queryKey: keyOf(search) });
  };
  useEffect(() => {
    live.accepts = (row) => !isOnlyForServer(search) && matches(row, search);
    live.onOverflow = () => {
      void readPage(search, "", PAGE, AbortSignal.timeout(30_000)).then((page) => {
        live.clear();
        queries.setQueryData<Pages>(keyOf(search), { pages: [page], pageParams: [""] });
      });
    };
  });
  const state = useChanges(search, key, live, isOn);
  const rows = useRows(data, live, changes);
  return {
    ...{ rows, live, held: changes.held, state, error: pages.error, reload },
    ...{ isFirst: pages.isPending, isLoading: isFetchingNextPage },
    isCut: data?.pages.at(-1)?.next !== "" && !hasNextPage && !pages.isPending && pages.error === null,
    loadMore: hasNextPage && pages.error === null ? () => void fetchNextPage({ cancelRefetch: false }) : undefined,
  };
}

/** Follows changes of tasks, and reads the newest ones when the stream is opened. */
function useChanges(search: TaskSearch, key: string, live: LiveTasks, isOn: boolean): FollowState {
  return useFollow({
    isOn,
    key,
    read: async (signal) => {
      const { tenant, owner } = filterOf(search);
      const request = { ...(tenant !== undefined && { tenant }), ...(owner !== undefined && { owner }) };
      for await (const { task } of admin.followTasks(request, { signal }))
        if (task !== undefined) live.take(rowOf(task));
      return "cut";
    },
    catchUp: async (signal) => {
      const { rows } = await readPage(search, "", CATCH_UP, signal);
      if (rows.length === CATCH_UP && !rows.some(({ id }) => live.has(id))) live.onOverflow();
      else for (const row of rows) live.take(row, true);
    },
  });
}

/** Joins the new tasks and the pages. The list stays the same object while only rows in it change. */
function useRows(data: Pages | undefined, live: LiveTasks, { fresh, removed }: Changes): readonly TaskRow[] {
  const paged = useMemo(() => {
    const rows: TaskRow[] = [];
    for (const page of data?.pages ?? []) {
      live.addPage(page.rows);
      for (const row of page.rows) rows.push(row);
    }
    return rows;
  }, [data, live]);
  return useMemo(() => {
    if (fresh.length === 0 && removed.size === 0) return paged;
    const news = new Set(fresh.map(({ id }) => id));
    const old = news.size === 0 ? paged : paged.filter(({ id }) => !news.has(id));
    const rows = [...fresh, ...old];
    return removed.size === 0 ? rows : rows.filter(({ id }) => !removed.has(id));
  }, [fresh, paged, removed]);
}
