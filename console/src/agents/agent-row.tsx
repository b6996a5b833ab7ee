import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { MessageSquare, X } from "lucide-react";
import type { ReactNode } from "react";
import { A2AError } from "../../../src/core/error.js";
import { addedAgents, type KnownAgent } from "../api/agents.js";
import { agentWords } from "../texts/agents.js";
import { sentenceOf } from "../ui/error.js";
import { durationText } from "../ui/format.js";
import { Badge, Button, css as ui } from "../ui/parts.js";
import { AgentIcon } from "./agent-icon.js";
import css from "./agents.module.css";
import { cardQuery, UnusableCard } from "./card.js";

/** One agent of the list, with the state that its card shows. */
export function AgentRow({ agent: { name, url, own, added } }: { readonly agent: KnownAgent }): ReactNode {
  const query = useQuery(cardQuery(url, true));
  const card = query.data?.found.card;
  const { list } = agentWords;
  const shown = (card?.name.trim() || name).slice(0, 120);
  return (
    <li className={`${ui.card} ${css.agent}`}>
      <AgentIcon agent={url} name={shown} icon={card?.iconUrl} />
      <div className={css.agentText}>
        <div className={ui.row}>
          <h2 className={css.agentName}>
            <Link to="/agent" search={{ url }} aria-label={list.open(shown)}>
              {shown}
            </Link>
          </h2>
          {card !== undefined && card.version !== "" && (
            <span className={`${ui.soft} ${ui.small}`}>{list.version(card.version.slice(0, 40))}</span>
          )}
          <AgentState query={query} />
          {own && <Badge>{list.own}</Badge>}
        </div>
        <p className={`${ui.soft} ${ui.mono} ${css.cut}`} title={url}>
          {url}
        </p>
        {query.isError ? (
          <p className={css.fault}>{sentenceOf(query.error).slice(0, 400)}</p>
        ) : (
          card?.description && <p className={css.about}>{card.description.slice(0, 300)}</p>
        )}
      </div>
      <div className={css.agentActions}>
        <Link to="/talk" search={{ agent: url }} className={`${ui.button} ${ui.main}`}>
          <MessageSquare size={15} aria-hidden="true" />
          {list.talk}
        </Link>
        {added && (
          <Button kind="plain" icon title={list.forget(shown)} onClick={() => addedAgents.forget(url)}>
            <X size={16} aria-hidden="true" />
          </Button>
        )}
      </div>
    </li>
  );
}

/** State of reading a card. */
interface CardState {
  readonly data?: { readonly ms: number } | undefined;
  readonly error: unknown;
  readonly isPending: boolean;
}

/** Says whether an agent's card can be read, and how fast it came. */
export function AgentState({ query: { data, error, isPending } }: { readonly query: CardState }): ReactNode {
  const { list } = agentWords;
  if (isPending) return <Badge tone="busy">{list.checking}</Badge>;
  if (data !== undefined) {
    return (
      <>
        <Badge tone="good">{list.reachable}</Badge>
        <span className={`${ui.soft} ${ui.small}`}>{list.answered(durationText(data.ms))}</span>
      </>
    );
  }
  if (error instanceof UnusableCard) return <Badge tone="bad">{list.unusable}</Badge>;
  const isLocked = error instanceof A2AError && error.reason === "UNAUTHENTICATED";
  return <Badge tone={isLocked ? "wait" : "bad"}>{isLocked ? list.needsLogin : list.unreachable}</Badge>;
}
