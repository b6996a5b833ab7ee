import { checkDelegations } from "./check-delegations.js";
import { checkWebhooks } from "./check-webhooks.js";
import { canonical, marksOf, stateIn, TERMINAL } from "./marks.js";
import type { Effect, FinalTask, Noted } from "./records.js";

/** The rules, each of which has a planted violation in check.test.ts. */
export const rules = [
  "acknowledged messages are kept",
  "messages are heard once",
  "a message is one task",
  "events are kept",
  "generations have no gap",
  "generations have one event",
  "states that end stay",
  "reads do not go back",
  "turns do not overlap",
  "attempts have one holder",
  "steps are not redone",
  "pieces are complete",
  "delegations are one sub-task",
  "sub-tasks are relayed once",
  "webhooks get every event",
  "webhooks get events in order",
  "webhooks have one sender",
  "nothing is stuck",
  "servers agree",
  "answers are sound",
] as const;

export type Rule = (typeof rules)[number];

export interface Violation {
  readonly rule: Rule;
  readonly what: string;
}

/** A time on the clock of `now` in which a failover may lose acknowledged records. */
export interface Loss {
  readonly from: number;
  to: number;
}

/** The records of a run: the clients' notes, the agents' effects and the final tasks. */
export interface History {
  readonly notes: readonly Noted[];
  readonly effects: readonly Effect[];
  readonly tasks: readonly FinalTask[];
  /** Failovers of a database that may lose the last seconds. */
  readonly losses?: readonly Loss[];
  /** Time after which a silent server loses its deliveries. */
  readonly leaseMs?: number;
}

export type Add = (rule: Rule, what: string) => void;
export type Tasks = ReadonlyMap<string, FinalTask>;

/** Checks a history. The result depends on the history alone. */
export function check(history: History): Violation[] {
  const found: Violation[] = [];
  const add = (rule: Rule, what: string): void => void found.push({ rule, what });
  const tasks = new Map(history.tasks.map((task) => [task.id, task]));
  const lost = lostOf(history, tasks);
  checkMessages({ ...history, notes: history.notes.filter((note) => !lost.has(note)) }, tasks, add);
  checkSeen(history, tasks, lost, add);
  checkReads(history, add);
  for (const task of history.tasks) checkTask(task, add);
  checkEffects(history, add);
  checkDelegations(history.tasks, tasks, add);
  checkWebhooks(history, tasks, add);
  return found;
}

/** Notes from a time of loss whose records do not exist in the end. They count as never noted. */
function lostOf({ notes, losses = [] }: History, tasks: Tasks): ReadonlySet<Noted> {
  if (losses.length === 0) return new Set();
  const isIn = ({ at }: Noted): boolean => losses.some(({ from, to }) => at >= from && at <= to);
  const isThere = (note: Noted): boolean => {
    if (note.kind !== "acknowledged" && note.kind !== "task" && note.kind !== "event") return true;
    const task = tasks.get(note.task);
    if (task === undefined) return false;
    if (note.kind === "acknowledged") return task.messages.includes(note.message);
    if (note.generation > task.generation) return false;
    if (note.kind === "event") {
      const kept = task.events.find(([generation]) => generation === note.generation)?.[1];
      return kept !== undefined && canonical(kept) === canonical(note.event);
    }
    return !TERMINAL.test(note.state) || (task.state === note.state && task.generation === note.generation);
  };
  const lost = new Set(notes.filter((note) => isIn(note) && !isThere(note)));
  // A missing task counts as lost if no other note mentions it.
  const known = new Set(
    notes.flatMap((note) => ("task" in note && note.kind !== "missing" && !lost.has(note) ? [note.task] : [])),
  );
  for (const note of notes) {
    if (note.kind === "missing" && !tasks.has(note.task) && !known.has(note.task)) lost.add(note);
  }
  return lost;
}

/**
 * Checks that an acknowledged message is in one task, once. Also checks that its turn began, unless the task ended
 * first.
 */
function checkMessages({ notes, tasks: all }: History, tasks: Tasks, add: Add): void {
  const taskOf = new Map<string, string>();
  for (const note of notes) {
    if (note.kind === "missing") add("acknowledged messages are kept", `${note.where} does not know ${note.task}`);
    if (note.kind === "wrong") add("answers are sound", `${note.client}: ${note.why}`);
    if (note.kind !== "acknowledged") continue;
    const { message, task } = note;
    const known = taskOf.get(message);
    if (known !== undefined && known !== task) add("a message is one task", `${message}: ${known} and ${task}`);
    taskOf.set(message, task);
  }
  for (const [message, id] of taskOf) {
    const task = tasks.get(id);
    const count = task?.messages.filter((one) => one === message).length ?? 0;
    if (count !== 1) add("acknowledged messages are kept", `${message} is ${count} times in ${id}`);
    if (task === undefined) continue;
    const begun = marksOf(task).filter((mark) => mark.message === message && mark.what === "begin");
    const runs = begun.map(({ attempt, holder }) => `${attempt} ${holder}`);
    const isTwice = begun.some(({ attempt }, at) => runs.indexOf(runs[at] ?? "") < at - (attempt === UNCLEAR ? 1 : 0));
    if (isTwice) add("messages are heard once", `an attempt at ${message} of ${id} began twice`);
    const unheard = begun.length === 0 && !/_(CANCELED|FAILED|REJECTED)$/.test(task.state);
    if (unheard) add("messages are heard once", `${message} of ${id} had no turn, and the task is ${task.state}`);
  }
  const contexts = new Map<string, string>();
  for (const { context, id } of all) {
    const other = contexts.get(context);
    if (other !== undefined) add("a message is one task", `${context}: ${other} and ${id}`);
    contexts.set(context, id);
  }
}

/** Checks that the final tasks have everything that clients saw. */
function checkSeen({ notes }: History, tasks: Tasks, lost: ReadonlySet<Noted>, add: Add): void {
  const finals = new Map([...tasks].map(([id, { events }]) => [id, new Map(events)]));
  const places = new Map<string, number>();
  const shown = new Map<string, string>();
  for (const note of notes) {
    if (note.kind !== "task" && note.kind !== "event") continue;
    const { task: id, generation } = note;
    const place = `${id} at ${generation}`;
    if (lost.has(note)) {
      if (note.reader !== undefined) places.set(note.reader, generation);
      continue;
    }
    const final = tasks.get(id);
    if (final === undefined) {
      add("events are kept", `${place} was shown to ${note.client}, and there is no such task`);
      continue;
    }
    const state = note.kind === "task" ? note.state : stateIn(note.event);
    if (generation > final.generation)
      add("events are kept", `${place} was shown, and ${final.generation} is the last`);
    // A resumed stream begins with the current state at the generation where it resumes.
    const isNow = note.kind === "event" || note.reader === undefined;
    if (TERMINAL.test(state) && (final.state !== state || (isNow && final.generation !== generation))) {
      add("states that end stay", `${place} was ${state}, and is ${final.state} at ${final.generation}`);
    }
    if (note.kind === "task") {
      if (note.reader === undefined) continue;
      const before = places.get(note.reader);
      if (before !== undefined && before !== generation) {
        add("generations have no gap", `${note.reader} stood at ${before} of ${id} and goes on at ${generation}`);
      }
      places.set(note.reader, generation);
      continue;
    }
    const before = places.get(note.reader);
    if (before !== undefined && generation !== before + 1) {
      add("generations have no gap", `${note.reader} was given ${generation} of ${id} after ${before}`);
    }
    places.set(note.reader, generation);
    const text = canonical(note.event);
    const other = shown.get(place);
    if (other !== undefined && other !== text) add("generations have one event", `${place}: ${other} and ${text}`);
    shown.set(place, text);
    const kept = finals.get(id)?.get(generation);
    if (kept === undefined || canonical(kept) !== text) {
      add("events are kept", `${place} was ${text}, and is ${kept && canonical(kept)}`);
    }
  }
}

/** Checks that a call shows no generation older than one that its client saw before the call. */
function checkReads({ notes, losses = [] }: History, add: Add): void {
  const seen = new Map<string, { generation: number; at: number }[]>();
  for (const note of notes) {
    if (note.kind !== "task" && note.kind !== "event") continue;
    const key = `${note.client} ${note.task}`;
    const before = seen.get(key) ?? [];
    seen.set(key, before);
    if (note.kind === "task" && note.reader === undefined) {
      const newest = Math.max(0, ...before.filter(({ at }) => at < note.asked).map(({ generation }) => generation));
      if (note.generation < newest) {
        add("reads do not go back", `${note.client} was shown ${note.generation} of ${note.task} after ${newest}`);
      }
    }
    // Records that a failover may have lost do not constrain later answers.
    const mayBeLost = losses.some(({ from, to }) => note.at >= from && note.at <= to);
    if (!mayBeLost) before.push({ generation: note.generation, at: note.at });
  }
}

/** Checks the log of a task: its generations, its state, and the order of its turns and attempts. */
function checkTask(task: FinalTask, add: Add): void {
  const { id, events, generation, state } = task;
  events.forEach(([at], index) => {
    if (at !== index + 2) add("generations have no gap", `the event ${index + 1} of ${id} has the generation ${at}`);
  });
  if (events.length !== generation - 1) {
    add("generations have no gap", `${id} is at ${generation} and has ${events.length} events`);
  }
  if (!TERMINAL.test(state)) add("nothing is stuck", `${id} is ${state}`);
  const end = events.findIndex(([, event]) => TERMINAL.test(stateIn(event)));
  if (end >= 0 && end !== events.length - 1) add("states that end stay", `${id} has events after its end`);
  for (const where of task.disagreeing) add("servers agree", `${where} shows ${id} otherwise`);
  checkTurns(task, add);
}

/**
 * Agents see this attempt number after an orderly restart, which does not count as an attempt. They see it again in the
 * same process after an outage that follows the restart (docs/recovery.md).
 */
const UNCLEAR = 2;

/**
 * Checks that one process after the other runs a turn. A later process has a later attempt, or the same one after an
 * orderly restart, which does not count as an attempt.
 */
function checkTurns(task: FinalTask, add: Add): void {
  let turn = -1;
  let attempt = 0;
  let next = 1;
  let runs: string[] = [];
  for (const mark of marksOf(task)) {
    const { message, what, holder } = mark;
    const number = task.messages.indexOf(message);
    const place = `${what} of attempt ${mark.attempt} at ${message} by ${holder} in ${task.id}`;
    const run = `${mark.attempt} ${holder}`;
    if (number > turn) runs = [];
    const isPast = number === turn && (mark.attempt < attempt || (runs.includes(run) && runs.at(-1) !== run));
    if (number < turn || isPast) {
      add("turns do not overlap", `${place} comes after ${runs.at(-1)} at ${task.messages[turn]}`);
      continue;
    }
    if (runs.at(-1) !== run) {
      runs.push(run);
      next = 1;
    } else if (what === "begin" && mark.attempt === UNCLEAR) next = 1;
    [turn, attempt] = [number, mark.attempt];
    if (!/^\d+$/.test(what)) continue;
    if (Number(what) !== next) add("pieces are complete", `${place} comes where ${next} has to`);
    next = Number(what) + 1;
  }
}

/** Compares the steps that ran with the stored outcomes of steps. */
function checkEffects({ effects, tasks }: History, add: Add): void {
  const stored = new Map<string, number>();
  for (const task of tasks) {
    for (const { message, what, value } of marksOf(task)) {
      if (value === "") continue;
      const step = `step ${what} of ${message} in ${task.id}`;
      const attempt = Number(value.split("-", 1)[0]);
      stored.set(step, Math.min(attempt, stored.get(step) ?? attempt));
    }
  }
  const holders = new Map<string, string[]>();
  for (const { task, message, attempt, step, holder } of effects) {
    const place = `step ${step} of ${message} in ${task}`;
    const first = stored.get(place);
    if (first !== undefined && attempt > first) {
      add("steps are not redone", `${place} was stored by attempt ${first} and done again by ${attempt}`);
    }
    const run = `attempt ${attempt} at ${message} in ${task}`;
    const known = holders.get(run) ?? [];
    holders.set(run, known);
    if (known.at(-1) === holder) continue;
    if (known.includes(holder)) add("attempts have one holder", `${run} was run by ${known} and ${holder} again`);
    known.push(holder);
  }
}
