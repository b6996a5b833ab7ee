import { useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import type { GetTaskResponse, TaskSummary } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { admin } from "../../api/admin.js";
import { readAll } from "../shared/pages.js";
import { useVisible } from "../shared/visible.js";
import { type FollowState, useFollow } from "../tasks/follow.js";
import { rowOf, type TaskRow } from "../tasks/task-row.js";
import { MAX_ENTRIES } from "../tasks/use-task.js";

/** Most tasks of a conversation that are read, the newest. */
const MAX_TASKS = 2_000;

interface Filter {
  readonly tenant?: string;
  readonly owner?: string;
}

/** Returns when a task was created, from its id where that has the time, else when its status was set. */
function createdAt({ id, at }: TaskRow): number {
  const [, high, low] = /^([\da-f]{8})-([\da-f]{4})-7/.exec(id) ?? [];
  return high === undefined ? at : Number.parseInt(`${high}${low}`, 16);
}

const byCreation = (one: TaskRow, other: TaskRow): number =>
  createdAt(one) - createdAt(other) || (one.id < other.id ? -1 : 1);

/** A task of the conversation. Its content follows its row. */
export interface ConversationTask {
  readonly row: TaskRow;
  readonly created: Date;
  readonly details: GetTaskResponse | undefined;
  readonly error: unknown;
  readonly retry: () => void;
}

interface Conversation {
  /** Undefined until they are there; only the first `shown`. */
  readonly tasks: readonly ConversationTask[] | undefined;
  readonly total: number;
  readonly isCut: boolean;
  readonly error: unknown;
  readonly live: FollowState;
  readonly retry: () => void;
}

/** A conversation with all its tasks, live. */
export function useConversation(contextId: string, filter: Filter, shown: number): Conversation {
  const queries = useQueryClient();
  const isVisible = useVisible();
  const key = ["conversation", contextId, filter];
  const list = useQuery({
    queryKey: key,
    queryFn: async () => {
      const read = (page: { pageToken: string; pageSize: number }) =>
        admin.listTasks({ ...filter, ...page, contextId });
      const { rows, isCut } = await readAll<Awaited<ReturnType<typeof read>>, TaskSummary>(
        read,
        ({ tasks }) => tasks,
        MAX_TASKS,
      );
      return { rows: rows.map(rowOf).sort(byCreation), isCut };
    },
  });
  const live = useFollow({
    isOn: isVisible,
    key: JSON.stringify(key),
    catchUp: async () => void (await list.refetch()),
    read: async (signal) => {
      for await (const { task } of admin.followTasks(filter, { signal })) {
        if (task?.contextId === contextId) void queries.invalidateQueries({ queryKey: key });
      }
      return "cut";
    },
  });
  const rows = list.data?.rows.slice(0, shown) ?? [];
  const details = useQueries({
    queries: rows.map(({ id, position }) => ({
      // Another position is another content; the one before stays in view meanwhile.
      queryKey: ["conversation-task", id, position],
      queryFn: () => admin.getTask({ taskId: id, maxEntries: MAX_ENTRIES }),
      staleTime: Number.POSITIVE_INFINITY,
      placeholderData: () =>
        queries.getQueriesData<GetTaskResponse>({ queryKey: ["conversation-task", id] }).at(-1)?.[1],
    })),
  });
  return {
    tasks: list.data && rows.map((row, index) => taskOf(row, details[index])),
    total: list.data?.rows.length ?? 0,
    isCut: list.data?.isCut ?? false,
    error: list.error,
    live,
    retry: () => void list.refetch(),
  };
}

interface Details {
  readonly data: GetTaskResponse | undefined;
  readonly error: unknown;
  readonly refetch: () => unknown;
}

function taskOf(row: TaskRow, details: Details | undefined): ConversationTask {
  const { data, error = null } = details ?? {};
  return { row, created: new Date(createdAt(row)), details: data, error, retry: () => void details?.refetch() };
}
