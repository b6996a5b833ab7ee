import { lazy, type ReactNode, Suspense, useCallback, useState } from "react";
import type { Message, Part } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { JsonTree } from "../content/json-tree.js";
import { talkWords } from "../texts/talk.js";
import { Button, Skeleton, css as ui } from "../ui/parts.js";
import { a2uiMessagesOf } from "./a2ui.js";
import { Bubble } from "./bubble.js";
import { type AskedForm, answerOf, formOf, refusalOf } from "./form-part.js";
import css from "./talk.module.css";
import type { TalkStore } from "./talk-store.js";
import type { TaskView } from "./talk-view.js";

const FormView = lazy(() => import("./form/form-view.js"));
const Surfaces = lazy(() => import("./surface/surfaces.js"));

interface QuestionProps {
  readonly message: Message;
  readonly view: TaskView;
  readonly store: TalkStore;
  /** True while the task waits for the answer to it. */
  readonly isOpen: boolean;
}

/** A message of the agent: with its form, or the surface that it draws, while it can be answered. */
export function Question({ message, view, store, isOpen }: QuestionProps): ReactNode {
  const [isPlain, setPlain] = useState(false);
  const { parts } = message;
  const hasSurface = parts.some((part) => a2uiMessagesOf(part) !== undefined);
  const hasForm = parts.some((part) => formOf(part) !== undefined);
  const usesSurface = hasSurface && !(isPlain && hasForm);
  const taskId = view.id;
  const contextId = view.task?.contextId ?? "";
  const special = useCallback(
    (part: Part): ReactNode | undefined => {
      if (a2uiMessagesOf(part) !== undefined) return null;
      const form = formOf(part);
      if (form === undefined) return undefined;
      if (!isOpen) return <ClosedForm form={form} />;
      if (usesSurface) return null;
      const to = { taskId, contextId };
      return (
        <Suspense fallback={<Skeleton lines={4} />}>
          <FormView
            form={form}
            onSubmit={(data) => store.send({ ...to, parts: answerOf(form, data) })}
            onDecline={() => store.send({ ...to, parts: refusalOf(form) })}
          />
        </Suspense>
      );
    },
    [isOpen, usesSurface, taskId, contextId, store],
  );
  return (
    <div className={css.question}>
      <Bubble message={message} saying="said" special={special} />
      {isOpen && hasSurface && (
        <div className={ui.stack}>
          {usesSurface && (
            <Suspense fallback={<Skeleton lines={4} />}>
              <Surfaces messages={view.messages} onAction={(fields) => store.send({ taskId, contextId, ...fields })} />
            </Suspense>
          )}
          {hasForm && (
            <div className={ui.row}>
              <Button kind="plain" onClick={() => setPlain(!isPlain)}>
                {usesSurface ? talkWords.surface.asForm : talkWords.surface.asSurface}
              </Button>
            </div>
          )}
        </div>
      )}
    </div>
  );
}

/** A form that was answered, or whose task has ended. */
function ClosedForm({ form }: { readonly form: AskedForm }): ReactNode {
  return (
    <details className={css.closed}>
      <summary>{talkWords.form.answered}</summary>
      <JsonTree value={form.schema} />
    </details>
  );
}
