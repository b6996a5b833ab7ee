import { create, fromJsonString } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { useMutation } from "@tanstack/react-query";
import { type KeyboardEvent, lazy, type ReactNode, Suspense, useId, useState } from "react";
import { type Part, PartSchema } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { admin } from "../../api/admin.js";
import { operateWords } from "../../texts/operate.js";
import { ErrorNote, sentenceOf } from "../../ui/error.js";
import { Button, css, Skeleton } from "../../ui/parts.js";
import look from "../shared/shared.module.css";
import { WriteButton } from "../shared/write-button.js";
import { useMayWrite } from "../tasks/role.js";
import type { TaskRow } from "../tasks/task-row.js";

const JsonEditor = lazy(() => import("../../content/json-editor.js"));

const { inbox: texts } = operateWords;

/** @throws Error for invalid JSON */
function partsOf(text: string, json: string | undefined): Part[] {
  const parts: Part[] = [];
  if (text.trim() !== "") parts.push(create(PartSchema, { content: { case: "text", value: text } }));
  if (json !== undefined && json.trim() !== "") {
    parts.push(create(PartSchema, { content: { case: "data", value: jsonValue(json) } }));
  }
  return parts;
}

function jsonValue(json: string) {
  try {
    JSON.parse(json);
  } catch (error) {
    throw new Error(texts.badJson(sentenceOf(error)));
  }
  return fromJsonString(ValueSchema, json);
}

interface AnswerFormProps {
  readonly row: TaskRow;
  readonly onAnswered: () => void;
}

/** Answers a task in place of its owner, by a text, JSON or both. */
export function AnswerForm({ row, onAnswered }: AnswerFormProps): ReactNode {
  const { id: taskId, generation } = row;
  const field = useId();
  const mayWrite = useMayWrite();
  const [text, setText] = useState("");
  const [json, setJson] = useState<string>();
  const send = useMutation({
    mutationFn: async () => admin.answerTask({ taskId, generation, parts: partsOf(text, json) }),
    onSuccess: onAnswered,
  });
  const isEmpty = text.trim() === "" && (json ?? "").trim() === "";
  const submit = (): void => {
    if (mayWrite && !isEmpty && !send.isPending) send.mutate();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  };
  return (
    <form
      className={css.stack}
      aria-label={texts.answerTo(taskId)}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className={css.field}>
        <label htmlFor={field} className={css.label}>
          {texts.answer}
        </label>
        <textarea
          id={field}
          className={css.input}
          rows={2}
          value={text}
          disabled={!mayWrite}
          aria-describedby={`${field}-hint`}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={onKeyDown}
        />
      </div>
      {json !== undefined && (
        <Suspense fallback={<Skeleton lines={3} />}>
          <JsonEditor label={texts.json} text={json} onChange={setJson} onSubmit={submit} />
        </Suspense>
      )}
      {send.isError && <ErrorNote error={send.error} />}
      <div className={css.row}>
        <WriteButton kind="main" type="submit" disabled={mayWrite && (isEmpty || send.isPending)}>
          {texts.send}
        </WriteButton>
        {json === undefined && mayWrite && <Button onClick={() => setJson("")}>{texts.addJson}</Button>}
        <span id={`${field}-hint`} className={`${css.soft} ${css.small} ${look.rest}`}>
          {mayWrite ? texts.sendHint : operateWords.readOnly}
        </span>
      </div>
    </form>
  );
}
