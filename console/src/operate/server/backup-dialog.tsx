import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import { admin } from "../../api/admin.js";
import { serverWords } from "../../texts/server.js";
import { words } from "../../texts/words.js";
import { Modal } from "../../ui/dialog.js";
import { ErrorNote } from "../../ui/error.js";
import { bytesText } from "../../ui/format.js";
import { Button, css, Note } from "../../ui/parts.js";

const { backup: texts } = serverWords;

interface BackupDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Copies the store into a file on the server's machine. */
export function BackupDialog({ isOpen, onClose }: BackupDialogProps): ReactNode {
  return (
    <Modal title={texts.title} isOpen={isOpen} onClose={onClose}>
      {isOpen && <BackupForm onClose={onClose} />}
    </Modal>
  );
}

/** Returns the name of a file that tells when it was made. */
const nameNow = (): string => `parley-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.db`;

function BackupForm({ onClose }: { readonly onClose: () => void }): ReactNode {
  const id = useId();
  const [name, setName] = useState(nameNow);
  const create = useMutation({ mutationFn: () => admin.createBackup({ name }) });
  return (
    <form
      className={css.stack}
      onSubmit={(event) => {
        event.preventDefault();
        create.mutate();
      }}
    >
      <p>{texts.text}</p>
      <div className={css.field}>
        <label htmlFor={id} className={css.label}>
          {texts.name}
        </label>
        <input id={id} className={css.input} required value={name} onChange={({ target }) => setName(target.value)} />
      </div>
      {create.isError && <ErrorNote error={create.error} />}
      <div role="status">
        {create.isPending && texts.busy}
        {create.data && <Note>{texts.done(create.data.path, bytesText(Number(create.data.bytes)))}</Note>}
      </div>
      <div className={css.row} style={{ justifyContent: "flex-end" }}>
        <Button onClick={onClose}>{words.close}</Button>
        {create.data === undefined && (
          <Button kind="main" type="submit" disabled={create.isPending}>
            {texts.submit}
          </Button>
        )}
      </div>
    </form>
  );
}
