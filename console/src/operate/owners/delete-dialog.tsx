import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useId, useState } from "react";
import type { DeleteOwnerResponse, OwnerUsage } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { admin } from "../../api/admin.js";
import { operateWords } from "../../texts/operate.js";
import { words } from "../../texts/words.js";
import { Modal } from "../../ui/dialog.js";
import { ErrorNote } from "../../ui/error.js";
import { Button, css, Note } from "../../ui/parts.js";

const { owners: texts } = operateWords;

/** The name that is shown and typed for an owner. */
export const shownName = (owner: string): string => (owner === "" ? operateWords.anonymous : owner);

interface DeleteDialogProps {
  /** The owner to delete, or undefined while the dialog is closed. */
  readonly usage: OwnerUsage | undefined;
  readonly onClose: () => void;
}

/** Deletes everything of an owner, after its name was typed. */
export function DeleteDialog({ usage, onClose }: DeleteDialogProps): ReactNode {
  const title = usage === undefined ? "" : texts.removeTitle(shownName(usage.owner));
  return (
    <Modal title={title} isOpen={usage !== undefined} onClose={onClose}>
      {usage !== undefined && <DeleteForm usage={usage} onClose={onClose} />}
    </Modal>
  );
}

function DeleteForm({
  usage: { owner, tenant, tasks },
  onClose,
}: {
  readonly usage: OwnerUsage;
  readonly onClose: () => void;
}): ReactNode {
  const id = useId();
  const name = shownName(owner);
  const [typed, setTyped] = useState("");
  const [isEverywhere, setEverywhere] = useState(false);
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => admin.deleteOwner({ owner, ...(!isEverywhere && { tenant }) }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["owners"] }),
  });
  if (remove.data?.remaining === 0n) return <Deleted answer={remove.data} onClose={onClose} />;
  const isSure = typed === name;
  return (
    <form
      className={css.stack}
      onSubmit={(event) => {
        event.preventDefault();
        if (isSure) remove.mutate();
      }}
    >
      <p>{texts.removeText(Number(tasks))}</p>
      <TenantChoice tenant={tenant} isEverywhere={isEverywhere} onChange={setEverywhere} />
      <div className={css.field}>
        <label htmlFor={id} className={css.label}>
          {texts.type(name)}
        </label>
        <input
          id={id}
          className={css.input}
          autoComplete="off"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
      </div>
      {remove.isError && <ErrorNote error={remove.error} />}
      {remove.data && <Note tone="wait">{texts.remaining(Number(remove.data.remaining))}</Note>}
      <div className={css.row} style={{ justifyContent: "flex-end" }}>
        <Button onClick={onClose}>{words.keep}</Button>
        <Button kind="danger" type="submit" disabled={!isSure || remove.isPending}>
          {remove.data ? texts.again : texts.remove}
        </Button>
      </div>
    </form>
  );
}

function Deleted({
  answer,
  onClose,
}: {
  readonly answer: DeleteOwnerResponse;
  readonly onClose: () => void;
}): ReactNode {
  return (
    <>
      <p role="status">{texts.deleted(Number(answer.tasks))}</p>
      <div className={css.row} style={{ justifyContent: "flex-end" }}>
        <Button kind="main" onClick={onClose}>
          {words.close}
        </Button>
      </div>
    </>
  );
}

interface TenantChoiceProps {
  readonly tenant: string;
  readonly isEverywhere: boolean;
  readonly onChange: (isEverywhere: boolean) => void;
}

function TenantChoice({ tenant, isEverywhere, onChange }: TenantChoiceProps): ReactNode {
  const name = useId();
  return (
    <fieldset className={css.stack} style={{ border: 0, margin: 0, padding: 0 }}>
      <legend className={css.label}>{operateWords.tenant}</legend>
      {[false, true].map((everywhere) => (
        <label key={String(everywhere)} className={css.row}>
          <input type="radio" name={name} checked={isEverywhere === everywhere} onChange={() => onChange(everywhere)} />
          {everywhere ? texts.everyTenant : texts.oneTenant(tenant === "" ? operateWords.defaultTenant : tenant)}
        </label>
      ))}
    </fieldset>
  );
}
