import { useQueryClient } from "@tanstack/react-query";
import { ArrowLeft, Eye, EyeOff, Network } from "lucide-react";
import { type ReactNode, useDeferredValue, useMemo, useState, useSyncExternalStore } from "react";
import { cardQuery } from "../agents/card.js";
import { connectedCard, useLoginRevision } from "../agents/client.js";
import { secretsAt } from "../agents/logins.js";
import { absolute } from "../api/agents.js";
import { type Exchange, exchangeLog } from "../api/exchanges.js";
import { exchangeWords } from "../texts/exchanges.js";
import { bytesText, durationText } from "../ui/format.js";
import { Badge, Button, Empty, type Tone, css as ui } from "../ui/parts.js";
import { ExchangeView } from "./exchange-view.js";
import css from "./exchanges.module.css";
import { rpcOf } from "./rpc.js";

/** The requests of this page to an agent, with their answers, as they went over the wire. */
export function ExchangesPanel({ agent }: { readonly agent: string }): ReactNode {
  const all = useDeferredValue(useSyncExternalStore(exchangeLog.subscribe, exchangeLog.get));
  const of = absolute(agent);
  const exchanges = useMemo(() => all.filter((each) => absolute(each.agent) === of).toReversed(), [all, of]);
  const [openId, setOpen] = useState<number>();
  const [isRevealed, setRevealed] = useState(false);
  useLoginRevision(of);
  const secrets = secretsAt(of);
  const queries = useQueryClient();
  const open = exchanges.find(({ id }) => id === openId);
  if (exchanges.length === 0) {
    return (
      <Empty icon={<Network size={28} aria-hidden="true" />} title={exchangeWords.empty}>
        <p>{exchangeWords.emptyHint}</p>
      </Empty>
    );
  }
  return (
    <section className={css.panel} aria-label={exchangeWords.title} data-open={open && ""}>
      <div className={css.bar}>
        {open !== undefined && (
          <Button kind="plain" className={css.back} onClick={() => setOpen(undefined)}>
            <ArrowLeft size={15} aria-hidden="true" />
            {exchangeWords.back}
          </Button>
        )}
        <span className={`${ui.soft} ${ui.small} ${css.count}`}>{exchangeWords.count(exchanges.length)}</span>
        <RevealButton isRevealed={isRevealed} onChange={setRevealed} />
        <Button kind="plain" onClick={() => exchangeLog.clear()}>
          {exchangeWords.clear}
        </Button>
      </div>
      <div className={css.body}>
        <List exchanges={exchanges} openId={openId} onOpen={setOpen} />
        <div className={css.detail}>
          {open === undefined ? (
            <p className={`${ui.soft} ${css.choose}`}>{exchangeWords.choose}</p>
          ) : (
            <ExchangeView
              key={open.id}
              exchange={open}
              card={connectedCard(queries, of) ?? queries.getQueryData(cardQuery(of).queryKey)?.found.card}
              secrets={secrets}
              isRevealed={isRevealed}
            />
          )}
        </div>
      </div>
    </section>
  );
}

function RevealButton({
  isRevealed,
  onChange,
}: {
  readonly isRevealed: boolean;
  readonly onChange: (isRevealed: boolean) => void;
}): ReactNode {
  const Icon = isRevealed ? EyeOff : Eye;
  return (
    <Button kind="plain" onClick={() => onChange(!isRevealed)}>
      <Icon size={15} aria-hidden="true" />
      {isRevealed ? exchangeWords.hide : exchangeWords.reveal}
    </Button>
  );
}

interface ListProps {
  readonly exchanges: readonly Exchange[];
  readonly openId: number | undefined;
  readonly onOpen: (id: number) => void;
}

function List({ exchanges, openId, onOpen }: ListProps): ReactNode {
  return (
    <ul className={css.list} aria-label={exchangeWords.list}>
      {exchanges.map((each) => (
        <li key={each.id}>
          <button
            type="button"
            className={css.item}
            aria-current={each.id === openId ? "true" : undefined}
            onClick={() => onOpen(each.id)}
          >
            <span className={css.name}>{nameOf(each)}</span>
            <StatusBadge exchange={each} />
            <span className={`${ui.soft} ${ui.small} ${css.where}`}>{whereOf(each)}</span>
            <span className={`${ui.soft} ${ui.small}`}>{figuresOf(each)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function nameOf(exchange: Exchange): string {
  const rpc = rpcOf(exchange);
  if (rpc !== undefined) return rpc.name.slice(0, 80);
  return exchange.url.includes("/.well-known/agent") ? exchangeWords.card : exchangeWords.other;
}

/** Returns the verb and what stands for the place: the binding, or the path. */
function whereOf(exchange: Exchange): string {
  const { pathname } = new URL(exchange.url);
  return `${exchange.method} ${rpcOf(exchange)?.wire ?? pathname}`;
}

function figuresOf({ request, response, endMs }: Exchange): string {
  const size = bytesText(request.size + response.size);
  return endMs === undefined ? size : `${size} · ${durationText(endMs)}`;
}

/** The status of an exchange, by number and colour. */
export function StatusBadge({ exchange: { status, error, endMs } }: { readonly exchange: Exchange }): ReactNode {
  if (status === undefined) {
    const isOver = error !== undefined || endMs !== undefined;
    return <Badge tone={isOver ? "bad" : "busy"}>{isOver ? exchangeWords.failed : exchangeWords.running}</Badge>;
  }
  const tone: Tone = status >= 400 ? "bad" : endMs === undefined ? "busy" : "good";
  return <Badge tone={tone}>{status}</Badge>;
}
