import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Task } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { type Check, callError, type Finding, ofBegunTask } from "../check.js";

/** Checks of ListTasks (specification 3.1.4), which use the task of `send`. */
export const listChecks: readonly Check[] = [
  {
    name: "list",
    isNew: true,
    section: "3.1.4",
    requirement: "ListTasks finds the task by its context",
    mend: "filter ListTasks by contextId, and list tasks as soon as they are begun",
    run: ofBegunTask(async (task, { client, signal }) => {
      const { tasks } = await client.listTasks({ contextId: task.contextId }, { signal });
      if (tasks.some(({ contextId }) => contextId !== task.contextId))
        return { fault: "tasks of other contexts are listed" };
      return tasks.some(({ id }) => id === task.id) ? undefined : { fault: "the task is not listed" };
    }),
  },
  {
    name: "list-order",
    isNew: true,
    section: "3.1.4",
    requirement: "ListTasks lists the tasks that changed last first, without artifacts",
    mend: "sort by the time of the status, newest first, and leave out artifacts unless includeArtifacts asks for them",
    run: async ({ client, signal }) => {
      const { tasks } = await client.listTasks({ pageSize: 20 }, { signal });
      const full = tasks.find(({ artifacts }) => artifacts.length > 0);
      if (full !== undefined) return { fault: `the task ${full.id} is listed with artifacts` };
      return faultOfOrder(tasks);
    },
  },
  {
    name: "list-pages",
    isNew: true,
    section: "3.1.4",
    requirement: "ListTasks keeps to the pageSize, and its nextPageToken leads to other tasks",
    mend: "return at most pageSize tasks, with a nextPageToken that continues behind the last of them",
    run: async ({ client, signal }) => {
      const first = await client.listTasks({ pageSize: 1 }, { signal });
      if (first.tasks.length > 1) return { fault: `a page of 1 has ${first.tasks.length} tasks` };
      if (first.nextPageToken === "") return { skipped: "there is one task only" };
      const next = await client.listTasks({ pageSize: 1, pageToken: first.nextPageToken }, { signal });
      const isSame = next.tasks.some(({ id }) => id === first.tasks[0]?.id);
      return isSame ? { fault: "the second page has the task of the first one" } : undefined;
    },
  },
  {
    name: "list-bad-page",
    isNew: true,
    isAdvice: true,
    section: "6.5",
    requirement: "ListTasks with a pageToken that it never gave fails",
    mend: "refuse page tokens that cannot be read, so that callers do not begin at the first page again",
    run: async ({ client, signal }) => {
      const error = await callError(client.listTasks({ pageToken: "no-token-of-this-agent" }, { signal }));
      return error === undefined ? { fault: "it lists tasks" } : undefined;
    },
  },
];

/** Returns the fault of a list that is not ordered by status time. Tasks of the same millisecond may have any order. */
function faultOfOrder(tasks: readonly Task[]): Finding {
  const times = tasks.map(({ status }) => status?.timestamp).map((time) => time && timestampDate(time).getTime());
  const at = times.findIndex((time, i) => time !== undefined && time > (times[i - 1] ?? Infinity));
  return at < 0 ? undefined : { fault: `the task ${tasks[at]?.id} is newer than the one before it` };
}
