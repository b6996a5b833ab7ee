import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type Message, TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { admin } from "../../api/admin.js";
import { PartsView } from "../../content/parts-view.js";
import { type AskedForm, formOf } from "../../talk/form-part.js";
import { operateWords } from "../../texts/operate.js";
import { ErrorNote } from "../../ui/error.js";
import { css, Skeleton } from "../../ui/parts.js";
import type { TaskRow } from "../tasks/task-row.js";

const { inbox: texts } = operateWords;

/** Reads the message of a task's present status. It is that of the last entry, unless other entries followed it. */
async function readQuestion({ id, position }: TaskRow): Promise<Message | null> {
  const { entries } = await admin.listEntries({ taskId: id, after: Math.max(0, position - 1), pageSize: 1 });
  const event = entries[0]?.entry?.event;
  if (event?.case === "status") return event.value.status?.message ?? null;
  const { task } = await admin.getTask({ taskId: id });
  return task?.status?.message ?? null;
}

/** The message by which the agent of a task asks; null if it has said nothing. */
export function useQuestion(row: TaskRow): UseQueryResult<Message | null> {
  return useQuery({
    queryKey: ["question", row.id, row.generation],
    queryFn: () => readQuestion(row),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** The form in a question; undefined if it has none. */
export function formIn(question: Message | null | undefined): AskedForm | undefined {
  return question?.parts.map(formOf).find((form) => form !== undefined);
}

/** Shows the question of a task, without its form. */
export function Question({ row }: { readonly row: TaskRow }): ReactNode {
  const { data, error, refetch } = useQuestion(row);
  if (error !== null) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Skeleton lines={2} />;
  return (
    <>
      {data === null || data.parts.length === 0 ? (
        <p className={css.soft}>{texts.noQuestion}</p>
      ) : (
        <PartsView parts={data.parts.filter((part) => formOf(part) === undefined)} of="message" />
      )}
      {row.state === TaskState.AUTH_REQUIRED && <p className={`${css.soft} ${css.small}`}>{texts.login}</p>}
    </>
  );
}
