import { useSuspenseQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { Bot } from "lucide-react";
import { lazy, type ReactNode, Suspense, useEffect, useSyncExternalStore } from "react";
import { useAgent } from "../agents/client.js";
import { addedAgents, allAgents } from "../api/agents.js";
import { sessionQuery } from "../api/session.js";
import { talkWords } from "../texts/talk.js";
import { classes, Empty, Skeleton, css as ui } from "../ui/parts.js";
import css from "./talk.module.css";
import { TalkList } from "./talk-list.js";
import { TalkPanel } from "./talk-panel.js";
import type { TalkSearch } from "./talk-search.js";
import type { TalkStore } from "./talk-store.js";
import { talks } from "./talks.js";

/** Conversations with agents: a list, one of them, and another one beside it where there is room. */
export default function Page(): ReactNode {
  const search: TalkSearch = useSearch({ from: "/talk" });
  const navigate = useNavigate();
  useSyncExternalStore(talks.subscribe, talks.list);
  const store = talks.get(search.conversation);
  const beside = search.beside === search.conversation ? undefined : talks.get(search.beside);
  const { agent, task } = search;
  const isKnown = store !== undefined;
  useEffect(() => {
    if (isKnown || agent === undefined) return;
    const opened = task === undefined ? talks.begin(agent) : talks.ofTask(agent, task);
    void navigate({ to: "/talk", search: (now) => ({ ...now, conversation: opened.kept.id }), replace: true });
  }, [isKnown, agent, task, navigate]);
  return (
    <div
      className={classes(
        css.page,
        isKnown && css.hasTalk,
        isKnown && (beside !== undefined || search.panel === "raw") && css.hasBeside,
      )}
    >
      <TalkList current={search} />
      {store === undefined ? <Choose /> : <Panels store={store} beside={beside} search={search} />}
    </div>
  );
}

interface PanelsProps {
  readonly store: TalkStore;
  readonly beside: TalkStore | undefined;
  readonly search: TalkSearch;
}

function Panels({ store, beside, search }: PanelsProps): ReactNode {
  return (
    <>
      <TalkPanel key={store.kept.id} store={store} search={search} />
      {search.panel === "raw" ? (
        <RawPanel agent={store.kept.agent} />
      ) : (
        beside !== undefined && <TalkPanel key={beside.kept.id} store={beside} search={search} isBeside />
      )}
    </>
  );
}

const ExchangesPanel = lazy(async () => ({
  default: (await import("../exchanges/exchanges-panel.js")).ExchangesPanel,
}));

/** The requests and answers of the conversation's agent. */
function RawPanel({ agent }: { readonly agent: string }): ReactNode {
  // Its card names the methods behind paths.
  useAgent(agent);
  return (
    <div className={css.raw}>
      <Suspense fallback={<Skeleton lines={6} />}>
        <ExchangesPanel agent={agent} />
      </Suspense>
    </div>
  );
}

/** The agents, where no conversation is open. */
function Choose(): ReactNode {
  const { data } = useSuspenseQuery(sessionQuery);
  const added = useSyncExternalStore(addedAgents.subscribe, addedAgents.get);
  const agents = "session" in data ? allAgents(data.session, added) : [];
  return (
    <section className={css.choose} aria-label={talkWords.choose}>
      <Empty icon={<Bot size={36} aria-hidden="true" />} title={talkWords.choose}>
        <p>{agents.length === 0 ? talkWords.noAgents : talkWords.chooseHint}</p>
        <ul className={css.agents}>
          {agents.map(({ name, url }) => (
            <li key={url}>
              <Link className={classes(ui.card, css.agent)} to="/talk" search={{ agent: url }}>
                <strong>{name}</strong>
                <span className={`${ui.soft} ${ui.small}`}>{url}</span>
              </Link>
            </li>
          ))}
        </ul>
        <Link to="/agents" className={ui.button}>
          {talkWords.addAgent}
        </Link>
      </Empty>
    </section>
  );
}
