import { useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { Bot, MessageSquare, RotateCw, Webhook } from "lucide-react";
import { lazy, type ReactNode, Suspense, useSyncExternalStore } from "react";
import { AgentIcon } from "../agents/agent-icon.js";
import { AgentState } from "../agents/agent-row.js";
import css from "../agents/agents.module.css";
import { cardQuery, type ReceivedCard, UnusableCard } from "../agents/card.js";
import { CardTab } from "../agents/card-tab.js";
import { Violations } from "../agents/violations.js";
import { absolute, addedAgents } from "../api/agents.js";
import { sessionQuery } from "../api/session.js";
import { Code } from "../content/code.js";
import { agentWords } from "../texts/agents.js";
import { receiverWords } from "../texts/receiver.js";
import { ErrorNote } from "../ui/error.js";
import { Button, Empty, Skeleton, css as ui } from "../ui/parts.js";
import { TabLinks } from "../ui/tabs.js";

const InterfacesTab = lazy(() => import("../agents/interfaces-tab.js"));
const LoginTab = lazy(() => import("../agents/login-tab.js"));
const ChecksTab = lazy(() => import("../agents/checks-tab.js"));
const BindingsTab = lazy(() => import("../agents/bindings-tab.js"));
const JsonTab = lazy(() => import("../agents/json-tab.js"));
const ExchangesTab = lazy(async () => {
  const { ExchangesPanel } = await import("../exchanges/exchanges-panel.js");
  return { default: ({ agent }: TabProps) => <ExchangesPanel agent={agent} /> };
});

/** Properties of each tab. */
interface TabProps {
  readonly agent: string;
  readonly card: ReceivedCard;
}

const tabs = {
  card: CardTab,
  interfaces: InterfacesTab,
  login: LoginTab,
  checks: ChecksTab,
  bindings: BindingsTab,
  exchanges: ExchangesTab,
  json: JsonTab,
} as const;

const names = Object.keys(tabs) as (keyof typeof tabs)[];

/** The page of one agent. */
export default function AgentPage(): ReactNode {
  const { url } = useSearch({ from: "/agent" });
  const { agent: texts } = agentWords;
  if (url === undefined || !URL.canParse(url, location.origin)) {
    return (
      <Empty icon={<Bot size={30} aria-hidden="true" />} title={texts.missing}>
        <p>{texts.missingHint}</p>
        <Link to="/agents">{texts.toList}</Link>
      </Empty>
    );
  }
  return <Agent key={url} agent={absolute(url)} />;
}

function Agent({ agent }: { readonly agent: string }): ReactNode {
  const query = useQuery(cardQuery(agent));
  const { tab } = useSearch({ from: "/agent" });
  const Tab = tabs[names.find((name) => name === tab) ?? "card"];
  return (
    <div className={ui.page}>
      <Head agent={agent} query={query} />
      {query.isPending && <Skeleton lines={8} />}
      {query.isError && <NoCard error={query.error} onRetry={() => void query.refetch()} />}
      {query.data !== undefined && (
        <>
          <TabLinks
            label={agentWords.agent.tabs}
            tabs={names.map((name) => [name, agentWords.agent[name]])}
            current={tab}
          />
          <Suspense fallback={<Skeleton lines={6} />}>
            <Tab agent={agent} card={query.data} />
          </Suspense>
        </>
      )}
    </div>
  );
}

interface HeadProps {
  readonly agent: string;
  readonly query: ReturnType<typeof useQuery<ReceivedCard>>;
}

function Head({ agent, query }: HeadProps): ReactNode {
  const queries = useQueryClient();
  const card = query.data?.found.card;
  const added = useSyncExternalStore(addedAgents.subscribe, addedAgents.get).some(({ url }) => url === agent);
  const { data: state } = useSuspenseQuery(sessionQuery);
  const isNamed = "session" in state && state.session.agents.some(({ url }) => absolute(url) === agent);
  const name = (card?.name.trim() || new URL(agent).host).slice(0, 120);
  const { list, agent: texts } = agentWords;
  return (
    <header className={ui.head}>
      <div className={css.title}>
        <AgentIcon agent={agent} name={name} icon={card?.iconUrl} />
        <h1>{name}</h1>
        {card !== undefined && card.version !== "" && (
          <span className={ui.soft}>{list.version(card.version.slice(0, 40))}</span>
        )}
        <AgentState query={query} />
        <span className={`${ui.soft} ${ui.mono}`}>{agent}</span>
      </div>
      <div className={ui.row}>
        <Button
          icon
          title={texts.reload}
          disabled={query.isFetching}
          onClick={() => void queries.invalidateQueries({ queryKey: cardQuery(agent).queryKey })}
        >
          <RotateCw size={15} aria-hidden="true" />
        </Button>
        {!isNamed && (
          <Button onClick={() => (added ? addedAgents.forget(agent) : addedAgents.add(agent, name))}>
            {added ? texts.forget : texts.keep}
          </Button>
        )}
        {card?.capabilities?.pushNotifications === true && (
          <Link
            to="/receiver"
            search={{ agent }}
            className={`${ui.button} ${ui.icon}`}
            title={receiverWords.open}
            aria-label={receiverWords.open}
          >
            <Webhook size={15} aria-hidden="true" />
          </Link>
        )}
        <Link to="/talk" search={{ agent }} className={`${ui.button} ${ui.main}`}>
          <MessageSquare size={15} aria-hidden="true" />
          {list.talk}
        </Link>
      </div>
    </header>
  );
}

/** Explains a missing card, with the faults of the answer. */
function NoCard({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }): ReactNode {
  const { agent: texts } = agentWords;
  return (
    <>
      <ErrorNote error={error} onRetry={onRetry} />
      {error instanceof UnusableCard && (
        <>
          {error.violations.length > 0 && (
            <section className={css.section}>
              <h2>{texts.faults(error.violations.length)}</h2>
              <Violations violations={error.violations} />
            </section>
          )}
          <section className={css.section}>
            <h2>{texts.received}</h2>
            <Code code={error.text} language="json" />
          </section>
        </>
      )}
    </>
  );
}
