import { newId } from "../../../src/core/ids.js";
import { absolute } from "../api/agents.js";
import { forgetTalk, type KeptTalk, readTalks } from "./kept.js";
import { TalkStore } from "./talk-store.js";

/** The conversations of this browser, for `useSyncExternalStore`. They go on while other pages are shown. */
class Talks {
  readonly #stores = new Map<string, TalkStore>();
  readonly #listeners = new Set<() => void>();
  #list: readonly KeptTalk[] = [];

  constructor() {
    for (const kept of readTalks()) this.#add(kept);
    this.#tell();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** All of them, the newest first. */
  readonly list = (): readonly KeptTalk[] => this.#list;

  get(id: string | undefined): TalkStore | undefined {
    return id === undefined ? undefined : this.#stores.get(id);
  }

  /** Begins a conversation with an agent, or returns the one that has begun and in which nothing was said yet. */
  begin(agent: string, besides?: string): TalkStore {
    const url = absolute(agent);
    const empty = this.#list.find((kept) => kept.agent === url && kept.turns.length + kept.opened.length === 0);
    const known = empty?.id === besides ? undefined : this.get(empty?.id);
    if (known !== undefined) return known;
    const id = newId();
    const kept = { id, agent: url, agentName: "", title: "", at: Date.now(), opened: [], generations: {}, turns: [] };
    const store = this.#add(kept);
    this.#tell();
    return store;
  }

  /** Returns the conversation of a task, which is opened if no conversation has it. */
  ofTask(agent: string, taskId: string): TalkStore {
    const url = absolute(agent);
    const known = this.#list.find(
      (kept) =>
        kept.agent === url && (kept.opened.includes(taskId) || kept.turns.some((turn) => turn.taskId === taskId)),
    );
    const store = this.get(known?.id);
    if (store !== undefined) return store;
    const made = this.begin(agent);
    void made.open(taskId);
    return made;
  }

  /** Forgets a conversation. Its tasks go on at the agent. */
  forget(id: string): void {
    this.#stores.get(id)?.end();
    this.#stores.delete(id);
    forgetTalk(id);
    this.#tell();
  }

  #add(kept: KeptTalk): TalkStore {
    const store = new TalkStore(kept, () => this.#tell());
    this.#stores.set(kept.id, store);
    return store;
  }

  #tell(): void {
    const all = [...this.#stores.values()].map(({ kept }) => kept);
    this.#list = all.toSorted((one, other) => other.at - one.at);
    for (const listener of this.#listeners) listener();
  }
}

export const talks: Talks = new Talks();
