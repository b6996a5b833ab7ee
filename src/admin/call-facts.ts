import type { Message } from "@bufbuild/protobuf";
import type { AgentDirectory } from "../card/agents.js";
import type { Call } from "../core/call.js";
import { membersOf } from "../core/members.js";
import type { PushConfigKey, TaskStore } from "../store/task-store.js";
import { exportedTask } from "../task/transfer.js";

/** The task and its tenant and owner, as far as a request names them. */
export interface NamedByRequest {
  readonly taskId?: string | undefined;
  readonly tenant?: string | undefined;
  readonly owner?: string | undefined;
  /** The task's push configuration. */
  readonly configId?: string | undefined;
}

/** Returns what a request is about: by its fields, by the keys of one task, or by the header of an export. */
export function namedBy(request: Message): NamedByRequest {
  const { lines, keys, ...fields } = membersOf(request);
  const text = (name: string): string | undefined => {
    const value = fields[name];
    return typeof value === "string" ? value : undefined;
  };
  const named = { tenant: text("tenant"), owner: text("owner"), configId: text("configId") };
  // An absent id of a task is empty.
  const taskId = text("taskId") || undefined;
  if (typeof lines === "string") {
    const { taskId: id, tenant, owner } = exportedTask(lines) ?? {};
    return { taskId: taskId ?? id, tenant: named.tenant ?? tenant, owner: named.owner ?? owner };
  }
  return { ...named, taskId, ...(Array.isArray(keys) && namedByKeys(keys)) };
}

function namedByKeys(keys: readonly PushConfigKey[]): NamedByRequest {
  const [first] = keys;
  if (keys.some(({ taskId }) => taskId !== first?.taskId)) return {};
  return { taskId: first?.taskId, configId: keys.length === 1 ? first?.configId : undefined };
}

/** Finds the names of agents for the lines and records of operators' calls. */
export class CallAgents {
  readonly #agents: AgentDirectory;
  readonly #store: Pick<TaskStore, "head">;
  readonly #only: string;

  constructor({ agents, store }: { readonly agents: AgentDirectory; readonly store: Pick<TaskStore, "head"> }) {
    this.#agents = agents;
    this.#store = store;
    const [only = "", ...others] = new Set(agents.all.map(({ card }) => card.name));
    this.#only = others.length === 0 ? only : "";
  }

  /** Name of the server's agent; empty if it has several. */
  get only(): string {
    return this.#only;
  }

  /** Returns the name of the agent whose task or tenant a request names; empty if it is unknown. Never rejects. */
  async of({ taskId, tenant }: NamedByRequest): Promise<string> {
    if (this.#only !== "") return this.#only;
    const known = tenant ?? (taskId === undefined ? undefined : await this.#tenantOf(taskId));
    return known === undefined ? "" : agentName(this.#agents, known);
  }

  async #tenantOf(taskId: string): Promise<string | undefined> {
    try {
      return (await this.#store.head({ taskId }))?.tenant;
    } catch {
      // The call itself fails then, or does without the task.
      return undefined;
    }
  }
}

/** Returns the name of a tenant's agent; empty if no agent serves it. */
export function agentName(agents: AgentDirectory, tenant: string): string {
  return agents.resolve(tenant)?.card.name ?? "";
}

/** Notes the task and the agent that an admitted request is about, for its lines and records. */
export async function noteSubject(call: Call, request: Message, agents: CallAgents): Promise<NamedByRequest> {
  const named = namedBy(request);
  call.taskId = named.taskId ?? "";
  call.agent = await agents.of(named);
  return named;
}
