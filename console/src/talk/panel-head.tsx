import { Link, useNavigate } from "@tanstack/react-router";
import { ArrowLeft, Braces, History, Info, type LucideIcon, Scissors, Webhook, X } from "lucide-react";
import type { ReactNode } from "react";
import { receiverWords } from "../texts/receiver.js";
import { talkWords } from "../texts/talk.js";
import { Button, classes, css as ui } from "../ui/parts.js";
import { speechOf } from "./connection.js";
import { nameOf } from "./speech.js";
import css from "./talk.module.css";
import type { TalkSearch } from "./talk-search.js";
import type { TalkStore } from "./talk-store.js";
import type { TalkView } from "./talk-view.js";

interface PanelHeadProps {
  readonly store: TalkStore;
  readonly view: TalkView;
  readonly name: string;
  readonly search: TalkSearch;
  /** Closes the panel, if it is the one beside. */
  readonly onClose?: () => void;
}

/** The head of a conversation: the agent, the way to speak with it, and what can be looked at. */
export function PanelHead({ store, view, name, search, onClose }: PanelHeadProps): ReactNode {
  const navigate = useNavigate();
  const { agent } = store.kept;
  const Title = onClose === undefined ? "h1" : "h2";
  const isRaw = search.panel === "raw";
  return (
    <header className={css.panelHead}>
      <Link className={classes(ui.button, ui.plain, ui.icon, css.back)} to="/talk" aria-label={talkWords.showList}>
        <ArrowLeft size={16} aria-hidden="true" />
      </Link>
      <Title className={css.panelTitle} title={agent}>
        {name}
      </Title>
      <SpeechMenu store={store} view={view} />
      {view.isRunning && (
        <Button title={talkWords.cutHint} onClick={store.cut}>
          <Scissors size={14} aria-hidden="true" />
          {talkWords.cut}
        </Button>
      )}
      <HeadLink to="/agent" search={{ url: agent }} name={talkWords.about} icon={Info} />
      {view.blocks.length > 0 && (
        <HeadLink to="/recording" search={{ conversation: store.kept.id }} name={talkWords.record} icon={History} />
      )}
      {view.connected?.client.card.capabilities?.pushNotifications === true && (
        <HeadLink to="/receiver" search={{ agent }} name={receiverWords.open} icon={Webhook} />
      )}
      {onClose === undefined ? (
        <Button
          kind="plain"
          icon
          title={talkWords.raw}
          aria-pressed={isRaw}
          onClick={() => void navigate({ to: "/talk", search: { ...search, panel: isRaw ? undefined : "raw" } })}
        >
          <Braces size={16} aria-hidden="true" />
        </Button>
      ) : (
        <Button kind="plain" icon title={talkWords.closeBeside} onClick={onClose}>
          <X size={16} aria-hidden="true" />
        </Button>
      )}
    </header>
  );
}

interface HeadLinkProps {
  readonly to: "/agent" | "/receiver" | "/recording";
  readonly search: Readonly<Record<string, string>>;
  readonly name: string;
  readonly icon: LucideIcon;
}

/** A link of the head, shown as its icon. */
function HeadLink({ to, search, name, icon: Icon }: HeadLinkProps): ReactNode {
  const look = classes(ui.button, ui.plain, ui.icon);
  return (
    <Link className={look} to={to} search={search} title={name} aria-label={name}>
      <Icon size={16} aria-hidden="true" />
    </Link>
  );
}

/** The bindings and versions of the agent that a browser speaks. */
function SpeechMenu({ store, view: { connected } }: Pick<PanelHeadProps, "store" | "view">): ReactNode {
  if (connected === undefined || connected.speeches.length === 0) return undefined;
  return (
    <select
      className={classes(ui.input, css.speech)}
      aria-label={talkWords.speech}
      title={talkWords.speech}
      value={speechOf(connected, store.kept.speech)}
      onChange={(event) => store.speak(event.target.value)}
    >
      {connected.speeches.map((speech) => (
        <option key={nameOf(speech)} value={nameOf(speech)}>
          {nameOf(speech)}
        </option>
      ))}
    </select>
  );
}
