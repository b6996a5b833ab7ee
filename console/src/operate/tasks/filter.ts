import { TaskState } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { TaskRow } from "./task-row.js";
import { timestampOf } from "./task-row.js";

/** The filter of the list as its address has it. */
export interface TaskSearch {
  /** Names of states, joined by commas. */
  readonly states?: string | undefined;
  /** `""` means the default tenant, and here below anonymous callers. */
  readonly tenant?: string | undefined;
  readonly owner?: string | undefined;
  readonly agent?: string | undefined;
  readonly context?: string | undefined;
  readonly text?: string | undefined;
  /** ISO 8601 times. */
  readonly from?: string | undefined;
  readonly before?: string | undefined;
  readonly unattended?: string | undefined;
}

/** The filter of the list as the service takes it. */
export interface TaskFilter {
  readonly states: TaskState[];
  readonly tenant?: string;
  readonly owner?: string;
  readonly agent: string;
  readonly contextId: string;
  readonly text: string;
  readonly statusFrom?: { readonly seconds: bigint; readonly nanos: number };
  readonly statusBefore?: { readonly seconds: bigint; readonly nanos: number };
  readonly unattended: boolean;
}

/** Text of a field that stands for the empty name. */
const EMPTY = '""';

/** Most characters that the service searches for. */
const MAX_TEXT = 200;

/** States that a filter can name, in the order of a task's life. */
export const filterStates: readonly TaskState[] = [
  TaskState.SUBMITTED,
  TaskState.WORKING,
  TaskState.INPUT_REQUIRED,
  TaskState.AUTH_REQUIRED,
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
];

export const nameOf = (text: string): string => (text === EMPTY ? "" : text);
export const textOfName = (name: string): string => (name === "" ? EMPTY : name);

/** Reads the names of states, such as `WORKING` or `TASK_STATE_WORKING`. Others are left out. */
export function statesIn(text: string | undefined): TaskState[] {
  const names = new Set(text?.split(",").map((name) => name.replace(/^TASK_STATE_/, "")));
  return filterStates.filter((state) => names.has(TaskState[state]));
}

export function statesText(states: readonly TaskState[]): string | undefined {
  return states.length === 0 ? undefined : states.map((state) => TaskState[state]).join(",");
}

export function filterOf(search: TaskSearch): TaskFilter {
  const { states, tenant, owner, agent = "", context = "", text = "", from, before, unattended } = search;
  const [statusFrom, statusBefore] = [timeIn(from), timeIn(before)];
  return {
    ...{ states: statesIn(states), agent, contextId: context, text: text.slice(0, MAX_TEXT) },
    unattended: unattended !== undefined,
    ...(tenant !== undefined && { tenant: nameOf(tenant) }),
    ...(owner !== undefined && { owner: nameOf(owner) }),
    ...(statusFrom !== undefined && { statusFrom: timestampOf(statusFrom) }),
    ...(statusBefore !== undefined && { statusBefore: timestampOf(statusBefore) }),
  };
}

function timeIn(text: string | undefined): number | undefined {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? undefined : at;
}

/** True if only the server can tell which tasks match. Changes of tasks that the list does not have are then left out. */
export const isOnlyForServer = ({ text, unattended }: TaskSearch): boolean =>
  text !== undefined || unattended !== undefined;

/** True if a task that has changed belongs in the list. */
export function matches(row: TaskRow, search: TaskSearch): boolean {
  const states = statesIn(search.states);
  const [from, before] = [timeIn(search.from), timeIn(search.before)];
  return (
    (states.length === 0 || states.includes(row.state)) &&
    (search.tenant === undefined || nameOf(search.tenant) === row.tenant) &&
    (search.owner === undefined || nameOf(search.owner) === row.owner) &&
    (search.agent === undefined || search.agent === row.agent) &&
    (search.context === undefined || search.context === row.context) &&
    (from === undefined || row.at >= from) &&
    (before === undefined || row.at < before)
  );
}
