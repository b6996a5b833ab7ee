import { type A2AClient, type ClientOptions, connect } from "../../../src/client/web.js";
import { relayFetchOf } from "./relay.js";
import type { NamedAgent, Session } from "./session.js";

/** Key of the agents that were added in this browser. */
const KEY = "parley-console-agents";

/** An agent in the console's list. */
export interface KnownAgent extends NamedAgent {
  /** True if it was added in this browser, which can forget it. */
  readonly added: boolean;
}

let added: readonly { readonly name: string; readonly url: string }[] = readAdded();
const listeners = new Set<() => void>();

function readAdded(): readonly { readonly name: string; readonly url: string }[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(list)
      ? list.filter((each) => typeof each?.url === "string" && typeof each.name === "string")
      : [];
  } catch {
    return [];
  }
}

function keep(list: typeof added): void {
  added = list;
  localStorage.setItem(KEY, JSON.stringify(list));
  for (const listener of listeners) listener();
}

/** Agents that were added in this browser, for `useSyncExternalStore`. */
export const addedAgents = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  get: (): typeof added => added,
  add: (url: string, name: string): void => keep([...added.filter((each) => each.url !== url), { url, name }]),
  forget: (url: string): void => keep(added.filter((each) => each.url !== url)),
};

/** All agents: those that the server names, then those that were added here. */
export function allAgents({ agents }: Session, more: typeof added): readonly KnownAgent[] {
  const named = agents.map((each) => ({ ...each, url: absolute(each.url), added: false }));
  const urls = new Set(named.map(({ url }) => url));
  return [...named, ...more.filter(({ url }) => !urls.has(url)).map((each) => ({ ...each, own: false, added: true }))];
}

/**
 * Returns the URL of an agent without the slash at its end, so that one agent has one URL. A text that is not a URL stays as it
 * is, for the client to refuse.
 */
export function absolute(url: string): string {
  if (!URL.canParse(url, location.origin)) return url;
  return new URL(url, location.origin).href.replace(/\/$/, "");
}

interface ConnectOptions extends Omit<ClientOptions, "fetch"> {
  /** Called with the id of each exchange when it begins. */
  readonly onExchange?: (id: number) => void;
}

/** Connects to an agent, through the console's server if it has another origin. */
export function connectTo(url: string, { onExchange, ...options }: ConnectOptions = {}): Promise<A2AClient> {
  return connect(url, { ...options, fetch: relayFetchOf(url, onExchange), allowHttp: true });
}
