import type { Add, Tasks } from "./check.js";
import { marksOf, originsIn, relayedIn, stateIn } from "./marks.js";
import type { FinalTask } from "./records.js";

/** Checks that a task has at most one sub-task, and relays each piece of it once and in order. */
export function checkDelegations(all: readonly FinalTask[], tasks: Tasks, add: Add): void {
  const parts = new Map<string, string[]>();
  for (const { id, parent } of all) {
    if (parent !== undefined) parts.set(parent, [...(parts.get(parent) ?? []), id]);
  }
  for (const task of all) {
    const origins = new Set([...originsIn(task), ...(parts.get(task.id) ?? [])]);
    if (origins.size > 1) add("delegations are one sub-task", `${task.id} has ${[...origins].join(" and ")}`);
    const relayed = piecesOf(relayedIn(task));
    const [origin] = origins;
    if (origin === undefined) continue;
    const sub = tasks.get(origin);
    const pieces = sub === undefined ? [] : piecesOf(marksOf(sub));
    const isOver = stateIn(task.events.at(-1)?.[1] ?? {}) === "TASK_STATE_COMPLETED";
    const due = isOver ? pieces : pieces.slice(0, relayed.length);
    if (relayed.join() !== due.join()) {
      add("sub-tasks are relayed once", `${task.id} relays ${relayed.join()} of ${origin}, which has ${pieces.join()}`);
    }
  }
}

function piecesOf(marks: ReturnType<typeof marksOf>): string[] {
  const pieces = marks.filter(({ what }) => /^\d+$/.test(what));
  return pieces.map(({ attempt, holder, what, value }) => `${attempt} ${holder} ${what} ${value}`);
}
