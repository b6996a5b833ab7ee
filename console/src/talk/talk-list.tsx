import { Link, useNavigate } from "@tanstack/react-router";
import { Columns2, Plus, Trash2 } from "lucide-react";
import { type ReactNode, useState, useSyncExternalStore } from "react";
import { talkWords } from "../texts/talk.js";
import { Confirm } from "../ui/dialog.js";
import { Badge, Button, classes, Time, css as ui } from "../ui/parts.js";
import type { KeptTalk } from "./kept.js";
import css from "./talk.module.css";
import type { TalkSearch } from "./talk-search.js";
import type { TalkStore } from "./talk-store.js";
import { talks } from "./talks.js";

/** The conversations of this browser. */
export function TalkList({ current }: { readonly current: TalkSearch }): ReactNode {
  const list = useSyncExternalStore(talks.subscribe, talks.list);
  // An open conversation is what the page is about.
  const Title = current.conversation === undefined ? "h1" : "h2";
  return (
    <nav className={css.list} aria-label={talkWords.list}>
      <header className={css.listHead}>
        <Title>{talkWords.title}</Title>
        <Link
          className={classes(ui.button, ui.icon)}
          to="/talk"
          title={talkWords.newTalk}
          aria-label={talkWords.newTalk}
        >
          <Plus size={16} aria-hidden="true" />
        </Link>
      </header>
      {list.length === 0 && <p className={css.listEmpty}>{talkWords.listEmpty}</p>}
      <ul>
        {list.map((kept) => (
          <Entry key={kept.id} kept={kept} current={current} />
        ))}
      </ul>
    </nav>
  );
}

function Entry({ kept, current }: { readonly kept: KeptTalk; readonly current: TalkSearch }): ReactNode {
  const [isAsked, setAsked] = useState(false);
  const navigate = useNavigate();
  const store = talks.get(kept.id);
  const { id, agent, agentName, title, at } = kept;
  const isShown = current.conversation === id || current.beside === id;
  const forget = (): void => {
    setAsked(false);
    talks.forget(id);
    if (isShown) void navigate({ to: "/talk", search: {} });
  };
  return (
    <li className={css.entry} data-current={isShown ? "" : undefined}>
      <Link
        to="/talk"
        search={{ agent, conversation: id, ...(current.panel !== undefined && { panel: current.panel }) }}
        aria-current={current.conversation === id ? "page" : undefined}
      >
        <span className={css.entryTitle}>{title || talkWords.untitled}</span>
        <span className={css.entryMeta}>
          <span className={css.entryAgent}>{agentName || agent}</span>
          {store !== undefined && <Activity store={store} />}
          <Time at={new Date(at)} />
        </span>
      </Link>
      <span className={css.entryActions}>
        {current.conversation !== undefined && !isShown && (
          <Link
            className={classes(ui.button, ui.plain, ui.icon, css.besideAction)}
            to="/talk"
            search={{ ...current, beside: id }}
            title={talkWords.openBeside}
            aria-label={talkWords.openBeside}
          >
            <Columns2 size={14} aria-hidden="true" />
          </Link>
        )}
        <Button kind="plain" icon title={talkWords.forget} onClick={() => setAsked(true)}>
          <Trash2 size={14} aria-hidden="true" />
        </Button>
      </span>
      <Confirm
        title={talkWords.forget}
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        action={talkWords.forgetAction}
        onConfirm={forget}
      >
        <p>{talkWords.forgetHint}</p>
      </Confirm>
    </li>
  );
}

function Activity({ store }: { readonly store: TalkStore }): ReactNode {
  const { isRunning, waiting } = useSyncExternalStore(store.subscribe, store.view);
  if (isRunning) return <Badge tone="busy">{talkWords.running}</Badge>;
  return waiting.length > 0 ? <Badge tone="wait">{talkWords.waiting}</Badge> : undefined;
}
