import { create } from "@bufbuild/protobuf";
import { type Task, TaskState } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import {
  type ListTasksRequest,
  ListTasksRequestSchema,
  type ListTasksResponse,
  ListTasksResponseSchema,
} from "../../../gen/parley/admin/v1/admin_pb.js";
import type { Call } from "../../core/call.js";
import { invalid } from "../../core/error.js";
import { yieldToEventLoop } from "../../core/event-loop.js";
import type { HeadKey, HeadsRequest, TaskHead } from "../../store/task-store.js";
import { millisOf } from "../../task/entry.js";
import { jsonOf } from "../../wire/json-value.js";
import { agentName } from "../call-facts.js";
import { pageOf } from "../page.js";
import type { AdminParts } from "../parts.js";
import { isLoggedDamage, summaryOf, type TaskOfCall } from "./task-summary.js";

/** Maximum length of the text that tasks are searched for, in characters. */
const MAX_TEXT = 200;

/** Maximum number of heads, tasks and bytes that one page examines, if a filter needs more than the rows of tasks. */
const examined = { heads: 10_000, tasks: 1_000, bytes: 32 * 1024 * 1024 };

/** Tasks per read from the store, if a filter needs more than the rows of tasks. */
const STEP = 100;

/** States in which a task waits for its agent or its client. */
const OPEN: readonly number[] = [
  TaskState.SUBMITTED,
  TaskState.WORKING,
  TaskState.INPUT_REQUIRED,
  TaskState.AUTH_REQUIRED,
];

export async function listTasks(parts: AdminParts, request: ListTasksRequest, call: Call): Promise<ListTasksResponse> {
  if (request.text.length > MAX_TEXT) {
    throw invalid([{ field: "text", description: `must have at most ${MAX_TEXT} characters` }]);
  }
  const page = pageOf(ListTasksRequestSchema, request, ["number", "string"]);
  const after = page.after && { statusTime: page.after[0], taskId: page.after[1] };
  const filters = { ...filtersOf(parts, request), after, limit: page.limit };
  const { heads, next } =
    request.text === "" && !request.unattended
      ? await parts.store.listHeads(filters)
      : await examine(parts, request, filters, call);
  return create(ListTasksResponseSchema, {
    tasks: heads.map((head) => summaryOf(parts, head)),
    nextPageToken: page.token(next && [next.statusTime, next.taskId]),
  });
}

function filtersOf(parts: AdminParts, request: ListTasksRequest): Omit<HeadsRequest, "limit"> {
  const { owner, contextId, statusFrom, statusBefore, unattended } = request;
  const states = request.states.filter((state) => !unattended || OPEN.includes(state));
  // Only unfinished tasks can be unattended.
  const isNone = request.states.length > 0 && states.length === 0;
  return {
    states: unattended && states.length === 0 ? OPEN : states,
    tenants: isNone ? [] : tenantsOf(parts, request),
    owner,
    contextId: contextId === "" ? undefined : contextId,
    statusFrom: statusFrom && millisOf(statusFrom),
    statusBefore: statusBefore && millisOf(statusBefore),
  };
}

/** The tenants of a filter by tenant and agent; undefined for all. */
function tenantsOf({ agents }: AdminParts, { tenant, agent }: ListTasksRequest): readonly string[] | undefined {
  if (agent === "") return tenant === undefined ? undefined : [tenant];
  const isOf = (name: string): boolean => agentName(agents, name) === agent;
  if (tenant !== undefined) return isOf(tenant) ? [tenant] : [];
  return agents.anyTenant && isOf("") ? undefined : agents.knownTenants.filter(isOf);
}

/** Filters tasks one by one, as far as one page may go. */
async function examine(
  parts: AdminParts,
  { text, unattended }: ListTasksRequest,
  { limit, ...filters }: HeadsRequest,
  call: Call,
): Promise<{ readonly heads: readonly TaskHead[]; readonly next?: HeadKey | undefined }> {
  const { store, engine } = parts;
  const left = { ...examined };
  const heads: TaskHead[] = [];
  for (let { after } = filters; ; ) {
    const page = await store.listHeads({ ...filters, after, limit: STEP });
    for (const head of page.heads) {
      after = { statusTime: head.statusTime, taskId: head.taskId };
      left.heads--;
      if (unattended && !engine.control.isUnattended(head)) continue;
      if (text !== "" && !(await hasText(parts, { call, ...head }, text, left))) continue;
      heads.push(head);
      if (heads.length === limit) return { heads, next: after };
      if (left.tasks <= 0 || left.bytes <= 0) return { heads, next: after };
    }
    if (page.next === undefined) return { heads };
    after = page.next;
    if (left.heads <= 0 || left.tasks <= 0 || left.bytes <= 0) return { heads, next: after };
    await yieldToEventLoop();
  }
}

async function hasText(
  parts: AdminParts,
  task: TaskOfCall,
  text: string,
  left: { tasks: number; bytes: number },
): Promise<boolean> {
  // A task that retention removes meanwhile has no text, and neither has one whose log cannot be read.
  const found = await parts.engine.control
    .find(task.taskId)
    .catch((error) => (isLoggedDamage(error, parts, task) ? undefined : Promise.reject(error)));
  left.tasks--;
  left.bytes -= found?.bytes ?? 0;
  return found !== undefined && contains(found.task, text);
}

/** Bytes of text that are searched in one turn of the event loop. */
const TURN_BYTES = 1024 * 1024;

/** True if a message or artifact contains a text, which may begin in one of its parts and end in another. */
async function contains({ history, artifacts, status }: Task, text: string): Promise<boolean> {
  const wanted = lowerCase(text);
  const last = status?.message === undefined ? [] : [status.message];
  let searched = 0;
  for (const { parts } of [...history, ...last, ...artifacts]) {
    let tail = "";
    for (const { content } of parts) {
      if (content.case !== "text" && content.case !== "data") continue;
      const value = content.case === "text" ? content.value : JSON.stringify(jsonOf(content.value));
      const hay = tail + lowerCase(value);
      if (hay.includes(wanted)) return true;
      tail = content.case === "text" && wanted.length > 1 ? hay.slice(1 - wanted.length) : "";
      searched += hay.length;
      if (searched < TURN_BYTES) continue;
      searched = 0;
      await yieldToEventLoop();
    }
  }
  return false;
}

function lowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
