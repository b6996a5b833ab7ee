import { type ReactNode, useId, useState } from "react";
import { taskWords } from "../../texts/tasks.js";
import { words } from "../../texts/words.js";
import { Modal } from "../../ui/dialog.js";
import { Button, css, Note } from "../../ui/parts.js";
import { type ChangeKind, changeAll, type Failure } from "./changes.js";
import type { TaskRow } from "./task-row.js";

/** A change that waits for its confirmation. */
export interface RequestedAction {
  readonly kind: ChangeKind;
  readonly ids: readonly string[];
}

/** Failures that are listed. */
const MAX_FAILURES = 20;

interface ActionDialogProps {
  readonly asked: RequestedAction | undefined;
  readonly onClose: () => void;
  /** Called for each task that was changed, without a row if it was deleted. */
  readonly onChanged: (kind: ChangeKind, id: string, row: TaskRow | undefined) => void;
}

/** Asks before tasks are changed, changes them and shows what failed. */
export function ActionDialog({ asked, onClose, onChanged }: ActionDialogProps): ReactNode {
  if (asked === undefined) return undefined;
  const key = `${asked.kind} ${asked.ids.join()}`;
  return <OpenDialog key={key} asked={asked} onClose={onClose} onChanged={onChanged} />;
}

function OpenDialog({
  asked: { kind, ids },
  onClose,
  onChanged,
}: ActionDialogProps & { asked: RequestedAction }): ReactNode {
  const { ask } = taskWords;
  const [text, setText] = useState("");
  const [done, setDone] = useState<number>();
  const [failures, setFailures] = useState<readonly Failure[]>([]);
  const isBusy = done !== undefined && failures.length === 0;
  const submit = async (): Promise<void> => {
    setDone(0);
    setFailures([]);
    const failed = await changeAll(kind, ids, text, (id, row) => {
      setDone((before) => (before ?? 0) + 1);
      onChanged(kind, id, row);
    });
    if (failed.length === 0) onClose();
    else setFailures(failed);
  };
  const hint = { cancel: ask.cancelHint, fail: ask.failHint, delete: ask.deleteHint, export: ask.exportHint }[kind];
  return (
    <Modal title={ask[kind](ids.length)} isOpen onClose={onClose}>
      <p>{hint}</p>
      {ids.length === 1 && <p className={css.mono}>{ids[0]}</p>}
      {kind === "fail" && <TextField text={text} onText={setText} />}
      {isBusy && <p role="status">{ask.progress(done, ids.length)}</p>}
      {failures.length > 0 && <Failures failures={failures} of={ids.length} />}
      <div className={css.row} style={{ justifyContent: "flex-end" }}>
        <Button onClick={onClose}>{kind === "export" ? words.close : words.keep}</Button>
        {failures.length === 0 && (
          <Button kind={kind === "export" ? "main" : "danger"} disabled={isBusy} onClick={() => void submit()}>
            {ask.submit[kind]}
          </Button>
        )}
      </div>
    </Modal>
  );
}

function TextField({ text, onText }: { readonly text: string; readonly onText: (text: string) => void }): ReactNode {
  const id = useId();
  return (
    <div className={css.field}>
      <label htmlFor={id} className={css.label}>
        {taskWords.ask.text}
      </label>
      <textarea
        id={id}
        className={css.input}
        rows={3}
        maxLength={1_000}
        value={text}
        placeholder={taskWords.ask.textDefault}
        onChange={({ target }) => onText(target.value)}
      />
    </div>
  );
}

function Failures({ failures, of }: { readonly failures: readonly Failure[]; readonly of: number }): ReactNode {
  const { ask } = taskWords;
  return (
    <Note tone="bad">
      <p>{ask.failed(failures.length, of)}</p>
      <ul className={css.stack}>
        {failures.slice(0, MAX_FAILURES).map(({ id, reason }) => (
          <li key={id}>
            <span className={css.mono}>{id}</span>
            <br />
            {reason}
          </li>
        ))}
      </ul>
      {failures.length > MAX_FAILURES && <p>{ask.more(failures.length - MAX_FAILURES)}</p>}
    </Note>
  );
}
