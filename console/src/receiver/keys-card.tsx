import { useMutation, useQueryClient } from "@tanstack/react-query";
import { KeyRound, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { changeReceiver, type Proof } from "../api/receiver.js";
import { receiverWords as texts } from "../texts/receiver.js";
import { sentenceOf } from "../ui/error.js";
import { Button, Note, css as ui } from "../ui/parts.js";
import css from "./receiver.module.css";

/** The servers and keys by which signatures are checked. */
export function KeysCard({ proofs }: { readonly proofs: readonly Proof[] }): ReactNode {
  const [text, setText] = useState("");
  const queries = useQueryClient();
  const add = useMutation({
    mutationFn: (proof: string) => changeReceiver(queries, "/proofs", proof),
    onSuccess: () => setText(""),
  });
  const remove = useMutation({ mutationFn: (id: number) => changeReceiver(queries, `/proofs/${id}`) });
  const error = add.error ?? remove.error;
  return (
    <section className={css.card} aria-labelledby="receiver-keys">
      <h2 id="receiver-keys">{texts.keysTitle}</h2>
      <p className={`${ui.soft} ${ui.small}`}>{texts.keysHint}</p>
      <form
        className={css.line}
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate(text);
        }}
      >
        <input
          className={ui.input}
          aria-label={texts.key}
          placeholder={texts.key}
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <Button type="submit" disabled={text.trim() === "" || add.isPending}>
          <KeyRound size={15} aria-hidden="true" />
          {texts.addKey}
        </Button>
      </form>
      {error !== null && <Note tone="bad">{sentenceOf(error)}</Note>}
      {proofs.length > 0 && (
        <ul className={css.list} aria-label={texts.keysTitle}>
          {proofs.map(({ id, kind, shown }) => (
            <li key={id} className={css.item}>
              <span className={`${ui.soft} ${ui.small}`}>{texts.keys[kind]}</span>
              <span className={ui.mono} title={shown}>
                {shown}
              </span>
              <Button kind="plain" icon title={texts.removeKey(shown)} onClick={() => remove.mutate(id)}>
                <X size={14} aria-hidden="true" />
              </Button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
