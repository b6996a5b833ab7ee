import { type FormEvent, type ReactNode, useId, useState } from "react";
import { logWords } from "../../texts/tasks-log.js";
import { sentenceOf } from "../../ui/error.js";
import { Button, css } from "../../ui/parts.js";
import page from "./log.module.css";
import type { TaskLog } from "./task-log.js";

interface LogBarProps {
  readonly log: TaskLog;
  readonly onShow: (index: number) => void;
  readonly followsEnd: boolean;
  readonly onFollowsEnd: (follows: boolean) => void;
}

/** Ways through the log: to a position, to a time, and along with its end. */
export function LogBar({ log, onShow, followsEnd, onFollowsEnd }: LogBarProps): ReactNode {
  const [error, setError] = useState<string>();
  const toPosition = (text: string): void => {
    const position = Number(text);
    if (Number.isInteger(position) && position >= 1) onShow(Math.min(position, log.total) - 1);
  };
  const toTime = (text: string): void => {
    const at = Date.parse(text);
    if (Number.isNaN(at)) return;
    log
      .positionAt(at)
      .then((position) => onShow(position - 1))
      .catch((cause: unknown) => setError(sentenceOf(cause)));
  };
  return (
    <div className={css.row}>
      <Jump label={logWords.jump} type="number" className={page.jump} onText={toPosition} />
      <Jump label={logWords.jumpTime} type="datetime-local" className={page.time} onText={toTime} />
      <label className={css.row}>
        <input type="checkbox" checked={followsEnd} onChange={({ target }) => onFollowsEnd(target.checked)} />
        {logWords.follow}
      </label>
      <span className={`${css.soft} ${css.small}`}>{logWords.entries(log.total)}</span>
      {error !== undefined && <span role="alert">{error}</span>}
    </div>
  );
}

interface JumpProps {
  readonly label: string;
  readonly type: "number" | "datetime-local";
  readonly className: string | undefined;
  readonly onText: (text: string) => void;
}

function Jump({ label, type, className, onText }: JumpProps): ReactNode {
  const id = useId();
  const [text, setText] = useState("");
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onText(text);
  };
  return (
    <form onSubmit={submit} className={css.row}>
      <label htmlFor={id} className={css.small}>
        {label}
      </label>
      <input
        id={id}
        type={type}
        step={1}
        min={type === "number" ? 1 : undefined}
        className={`${css.input} ${className}`}
        value={text}
        onChange={({ target }) => setText(target.value)}
      />
      <Button type="submit">{logWords.go}</Button>
    </form>
  );
}
