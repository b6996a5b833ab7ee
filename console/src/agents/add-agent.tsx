import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { isLoopback } from "../../../src/core/net.js";
import { absolute, addedAgents, type KnownAgent } from "../api/agents.js";
import { agentWords } from "../texts/agents.js";
import { words } from "../texts/words.js";
import { sentenceOf } from "../ui/error.js";
import { Button, Note, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import { cardQuery } from "./card.js";

/** Longest name that is kept. */
const MAX_NAME = 200;

/** Adds an agent by its URL or that of its card, which is read first. */
export function AddAgent({ known }: { readonly known: readonly KnownAgent[] }): ReactNode {
  const id = useId();
  const [text, setText] = useState("");
  const [fault, setFault] = useState<string>();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { list } = agentWords;
  const add = useMutation({
    mutationFn: (url: string) => queries.fetchQuery({ ...cardQuery(url), staleTime: 0 }),
    onSuccess: ({ found }, url) => keep(url, found.card.name.trim().slice(0, MAX_NAME) || new URL(url).host),
  });
  const keep = (url: string, name: string): void => {
    addedAgents.add(url, name);
    setText("");
    add.reset();
    void navigate({ to: "/agent", search: { url } });
  };
  const submit = (): void => {
    const url = urlIn(text);
    const same = known.find((each) => each.url === url);
    add.reset();
    setFault(url === undefined ? list.badUrl(text.trim().slice(0, 200)) : same && list.known(same.name));
    if (url !== undefined && same === undefined) add.mutate(url);
  };
  const failed = add.isError ? add.variables : undefined;
  return (
    <form
      className={`${ui.card} ${ui.stack}`}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <div className={ui.field}>
        <label htmlFor={id}>{list.url}</label>
        <div className={css.addRow}>
          <input
            id={id}
            className={ui.input}
            inputMode="url"
            autoComplete="url"
            spellCheck={false}
            placeholder={list.placeholder}
            value={text}
            aria-invalid={fault !== undefined || failed !== undefined}
            onChange={({ target }) => setText(target.value)}
          />
          <Button kind="main" type="submit" disabled={text.trim() === "" || add.isPending}>
            <Plus size={15} aria-hidden="true" />
            {add.isPending ? list.looking : list.submit}
          </Button>
        </div>
      </div>
      {fault !== undefined && <Note tone="bad">{fault}</Note>}
      {failed !== undefined && (
        <NotFound error={add.error} onRetry={submit} onKeep={() => keep(failed, new URL(failed).host)} />
      )}
    </form>
  );
}

interface NotFoundProps {
  readonly error: unknown;
  readonly onRetry: () => void;
  readonly onKeep: () => void;
}

/** Tells why no card was found. The agent may be down. */
function NotFound({ error, onRetry, onKeep }: NotFoundProps): ReactNode {
  return (
    <Note tone="bad">
      <p>{sentenceOf(error)}</p>
      <div className={ui.row}>
        <Button onClick={onRetry}>{words.tryAgain}</Button>
        <Button onClick={onKeep}>{agentWords.list.addAnyway}</Button>
      </div>
    </Note>
  );
}

/** Returns the URL that a person means: without a scheme https, or http on this machine. */
function urlIn(given: string): string | undefined {
  const text = given.trim();
  const isWhole = /^[a-z][a-z\d+.-]*:\/\//i.test(text);
  const full = isWhole ? text : `${isLoopback(`http://${text}`) ? "http" : "https"}://${text}`;
  if (!URL.canParse(full)) return undefined;
  const { protocol, username, password } = new URL(full);
  return /^https?:$/.test(protocol) && username + password === "" ? absolute(full) : undefined;
}
