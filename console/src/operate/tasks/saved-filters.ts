import type { TaskSearch } from "./filter.js";

const KEY = "parley-console-task-filters";

/** A filter that this browser keeps. */
export interface SavedFilter {
  readonly name: string;
  readonly search: TaskSearch;
}

let saved: readonly SavedFilter[] = read();
const listeners = new Set<() => void>();

function read(): readonly SavedFilter[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(list)
      ? list.filter((each) => typeof each?.name === "string" && typeof each.search === "object" && each.search !== null)
      : [];
  } catch {
    return [];
  }
}

function keep(list: readonly SavedFilter[]): void {
  saved = list;
  try {
    localStorage.setItem(KEY, JSON.stringify(list));
  } catch {
    // Without room they last as long as the page.
  }
  for (const listener of listeners) listener();
}

/** The filters that this browser keeps, for `useSyncExternalStore`. */
export const savedFilters = {
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
  get: (): readonly SavedFilter[] => saved,
  save: (name: string, search: TaskSearch): void =>
    keep([...saved.filter((each) => each.name !== name), { name, search }]),
  forget: (name: string): void => keep(saved.filter((each) => each.name !== name)),
};
