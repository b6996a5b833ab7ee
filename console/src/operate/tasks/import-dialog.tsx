import { Upload } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { newId } from "../../../../src/core/ids.js";
import { admin } from "../../api/admin.js";
import { taskWords } from "../../texts/tasks.js";
import { Modal } from "../../ui/dialog.js";
import { sentenceOf } from "../../ui/error.js";
import { Badge, Button, Bytes, css } from "../../ui/parts.js";
import { useDrop } from "../../ui/use-drop.js";
import { rowOf, type TaskRow } from "./task-row.js";
import page from "./tasks.module.css";

interface ImportDialogProps {
  readonly files: readonly File[];
  readonly onFiles: (files: readonly File[]) => void;
  readonly onClose: () => void;
  readonly onImported: (row: TaskRow) => void;
}

type Outcome = { readonly error: string } | { readonly id: string };

/** Stores exported tasks. */
export function ImportDialog({ files, onFiles, onClose, onImported }: ImportDialogProps): ReactNode {
  const { importing } = taskWords;
  const [hasNewId, setNewId] = useState(false);
  const [owner, setOwner] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [outcomes, setOutcomes] = useState<ReadonlyMap<File, Outcome>>(new Map());
  const left = files.filter((file) => !("id" in (outcomes.get(file) ?? {})));
  const submit = async (): Promise<void> => {
    setBusy(true);
    for (const file of left) {
      const outcome = await importFile(file, hasNewId, owner, onImported);
      setOutcomes((before) => new Map([...before, [file, outcome]]));
    }
    setBusy(false);
  };
  return (
    <Modal title={importing.title} isOpen onClose={onClose}>
      <p>{importing.hint}</p>
      <DropField onFiles={onFiles} />
      {files.length > 0 && <FileList files={files} outcomes={outcomes} />}
      <Options hasNewId={hasNewId} onNewId={setNewId} owner={owner} onOwner={setOwner} />
      <div className={css.row} style={{ justifyContent: "flex-end" }}>
        <Button kind="main" disabled={isBusy || left.length === 0} onClick={() => void submit()}>
          {importing.submit}
        </Button>
      </div>
    </Modal>
  );
}

async function importFile(
  file: File,
  hasNewId: boolean,
  owner: string,
  onImported: (row: TaskRow) => void,
): Promise<Outcome> {
  try {
    const lines = await file.text();
    const { task } = await admin.importTask({
      lines,
      ...(hasNewId && { taskId: newId() }),
      ...(owner !== "" && { owner }),
    });
    if (task !== undefined) onImported(rowOf(task));
    return { id: task?.taskId ?? "" };
  } catch (error) {
    return { error: sentenceOf(error) };
  }
}

function DropField({ onFiles }: Pick<ImportDialogProps, "onFiles">): ReactNode {
  const id = useId();
  const target = useDrop<HTMLDivElement>(onFiles);
  return (
    <div ref={target} className={page.drop}>
      <Upload size={18} aria-hidden="true" />
      <label htmlFor={id}>{taskWords.importing.drop}</label>
      <input
        id={id}
        type="file"
        multiple
        accept=".jsonl,application/jsonl,application/x-ndjson"
        onChange={({ target }) => onFiles([...(target.files ?? [])])}
      />
    </div>
  );
}

function FileList({
  files,
  outcomes,
}: {
  readonly files: readonly File[];
  readonly outcomes: ReadonlyMap<File, Outcome>;
}): ReactNode {
  return (
    <ul className={css.stack}>
      {files.map((file) => {
        const outcome = outcomes.get(file);
        return (
          <li key={`${file.name} ${file.size}`}>
            <div className={css.row}>
              <span className={css.mono}>{file.name}</span>
              <Bytes size={file.size} />
              {outcome !== undefined && "id" in outcome && <Badge tone="good">{taskWords.importing.done}</Badge>}
            </div>
            {outcome !== undefined && "error" in outcome && (
              <p role="alert" className={page.error}>
                {outcome.error}
              </p>
            )}
          </li>
        );
      })}
    </ul>
  );
}

interface OptionsProps {
  readonly hasNewId: boolean;
  readonly onNewId: (has: boolean) => void;
  readonly owner: string;
  readonly onOwner: (owner: string) => void;
}

function Options({ hasNewId, onNewId, owner, onOwner }: OptionsProps): ReactNode {
  const id = useId();
  const { importing } = taskWords;
  return (
    <>
      <label className={css.row}>
        <input type="checkbox" checked={hasNewId} onChange={({ target }) => onNewId(target.checked)} />
        {importing.newId}
      </label>
      <div className={css.field}>
        <label htmlFor={id} className={css.label}>
          {importing.owner}
        </label>
        <input id={id} className={css.input} value={owner} onChange={({ target }) => onOwner(target.value)} />
      </div>
    </>
  );
}
