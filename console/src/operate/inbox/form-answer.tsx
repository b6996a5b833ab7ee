import type { JsonObject } from "@bufbuild/protobuf";
import { useMutation } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { messageOf } from "../../../../src/client/calls/message-input.js";
import type { MessageFields } from "../../../../src/client/web.js";
import { admin } from "../../api/admin.js";
import { type AskedForm, answerOf, refusalOf } from "../../talk/form-part.js";
import { operateWords } from "../../texts/operate.js";
import { ErrorNote } from "../../ui/error.js";
import { Button, css, Skeleton } from "../../ui/parts.js";
import type { TaskRow } from "../tasks/task-row.js";
import { AnswerForm } from "./answer-form.js";

const FormView = lazy(() => import("../../talk/form/form-view.js"));

const { inbox: texts } = operateWords;

interface FormAnswerProps {
  readonly row: TaskRow;
  readonly form: AskedForm;
  readonly onAnswered: () => void;
}

/** Answers a task by the form that its agent asks to be filled in, or by a text. */
export function FormAnswer({ row, form, onAnswered }: FormAnswerProps): ReactNode {
  const [usesText, setUsesText] = useState(false);
  const { id: taskId, generation } = row;
  const send = useMutation({
    mutationFn: (parts: MessageFields["parts"]) =>
      admin.answerTask({ taskId, generation, parts: messageOf({ parts }).parts }),
    onSuccess: onAnswered,
  });
  return (
    <div className={css.stack}>
      {usesText ? (
        <AnswerForm row={row} onAnswered={onAnswered} />
      ) : (
        <Suspense fallback={<Skeleton lines={4} />}>
          <FormView
            key={send.failureCount}
            form={form}
            onSubmit={(data: JsonObject) => send.mutate(answerOf(form, data))}
            onDecline={() => send.mutate(refusalOf(form))}
          />
        </Suspense>
      )}
      {send.isError && <ErrorNote error={send.error} />}
      <div className={css.row}>
        <Button kind="plain" onClick={() => setUsesText(!usesText)}>
          {usesText ? texts.byForm : texts.byText}
        </Button>
      </div>
    </div>
  );
}
