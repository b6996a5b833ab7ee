import { type QueryClient, queryOptions, type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient, Binding } from "../../../src/client/web.js";
import { absolute, connectTo } from "../api/agents.js";
import { loginOptionsFor } from "./credentials.js";
import { logins } from "./logins.js";

/** Binding and version for an agent. Default: the card's first choice. */
export interface AgentChoice {
  readonly binding?: Binding | undefined;
  /** As `Major.Minor`. */
  readonly version?: string | undefined;
}

/** First element of the keys of connected clients. */
const CONNECTED = "connected-agent";

/** Time for which an unused client stays connected, in milliseconds. */
const UNUSED_MS = 60_000;

/** Returns the query of the client of an agent with its login, for `useQuery` and `fetchQuery`. */
export function agentQuery(url: string, { binding, version }: AgentChoice = {}) {
  const agent = absolute(url);
  return queryOptions({
    queryKey: [CONNECTED, agent, logins.revision(agent), binding ?? "", version ?? ""],
    queryFn: ({ signal, client }) => {
      closeUnused(client);
      return connectTo(agent, {
        ...loginOptionsFor(agent),
        ...(binding !== undefined && { bindings: [binding] }),
        ...(version !== undefined && { version }),
        signal,
      });
    },
    staleTime: Infinity,
    gcTime: UNUSED_MS,
    // The client repeats requests itself, and cannot be compared as data.
    retry: false,
    structuralSharing: false,
  });
}

/**
 * Connects to an agent with its login. Clients are shared by all users of the same agent, login, binding and version, and
 * closed a minute after the last one.
 */
export function useAgent(url: string, choice: AgentChoice = {}): UseQueryResult<A2AClient> {
  useLoginRevision(url);
  return useQuery(agentQuery(url, choice), useQueryClient());
}

/** Renders again when the login at an agent changes. */
export function useLoginRevision(url: string): number {
  const agent = absolute(url);
  return useSyncExternalStore(logins.subscribe, () => logins.revision(agent));
}

const watched = new WeakSet<QueryClient>();

/** Closes each client when its query is dropped. */
function closeUnused(queries: QueryClient): void {
  if (watched.has(queries)) return;
  watched.add(queries);
  queries.getQueryCache().subscribe(({ type, query }) => {
    if (type !== "removed" || query.queryKey[0] !== CONNECTED) return;
    void (query.state.data as A2AClient | undefined)?.close();
  });
}

/** Returns the card of an agent that is connected; undefined if none is. */
export function connectedCard(queries: QueryClient, url: string): AgentCard | undefined {
  const all = queries.getQueryCache().findAll({ queryKey: [CONNECTED, absolute(url)] });
  return all.map(({ state }) => state.data as A2AClient | undefined).find((client) => client !== undefined)?.card;
}
