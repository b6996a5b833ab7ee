import { useSuspenseQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Bot, SearchX } from "lucide-react";
import { type ReactNode, useSyncExternalStore } from "react";
import { AddAgent } from "../agents/add-agent.js";
import { AgentRow } from "../agents/agent-row.js";
import css from "../agents/agents.module.css";
import { addedAgents, allAgents, type KnownAgent } from "../api/agents.js";
import { sessionQuery } from "../api/session.js";
import { agentWords } from "../texts/agents.js";
import { Empty, PageHead, css as ui } from "../ui/parts.js";

/** The agents that the server names and those that were added here. */
export default function AgentsPage(): ReactNode {
  const { data } = useSuspenseQuery(sessionQuery);
  const added = useSyncExternalStore(addedAgents.subscribe, addedAgents.get);
  const { filter = "" } = useSearch({ from: "/agents" });
  if (!("session" in data)) return undefined;
  const agents = allAgents(data.session, added);
  const shown = agents.filter((each) => matches(each, filter));
  const { list } = agentWords;
  return (
    <div className={ui.page}>
      <PageHead title={list.title} about={list.about} />
      <AddAgent known={agents} />
      {agents.length === 0 ? (
        <Empty icon={<Bot size={30} aria-hidden="true" />} title={list.none}>
          <p>{list.noneHint}</p>
        </Empty>
      ) : (
        <>
          <Filter filter={filter} shown={shown.length} all={agents.length} />
          {shown.length === 0 ? (
            <Empty icon={<SearchX size={30} aria-hidden="true" />} title={list.noMatch}>
              <p>{list.noMatchHint}</p>
            </Empty>
          ) : (
            <ul className={css.agents} aria-label={list.title}>
              {shown.map((agent) => (
                <AgentRow key={agent.url} agent={agent} />
              ))}
            </ul>
          )}
        </>
      )}
    </div>
  );
}

function matches({ name, url }: KnownAgent, filter: string): boolean {
  const text = `${name} ${url}`.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

interface FilterProps {
  readonly filter: string;
  readonly shown: number;
  readonly all: number;
}

function Filter({ filter, shown, all }: FilterProps): ReactNode {
  const navigate = useNavigate();
  const { list } = agentWords;
  return (
    <div className={ui.row}>
      <input
        className={`${ui.input} ${css.filter}`}
        type="search"
        data-search=""
        aria-label={list.filter}
        placeholder={list.filter}
        value={filter}
        onChange={({ target: { value } }) =>
          void navigate({ to: "/agents", search: { filter: value === "" ? undefined : value }, replace: true })
        }
      />
      <span className={`${ui.soft} ${ui.small}`} role="status">
        {list.count(shown, all)}
      </span>
    </div>
  );
}
