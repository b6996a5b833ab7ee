import type { AuditLog } from "../audit/audit.js";
import type { AgentDirectory } from "../card/agents.js";
import { createEngine } from "../engine/engine.js";
import type { FetchHandler } from "../http/fetch/handler.js";
import type { TaskStore } from "../store/task-store.js";
import { type AdminLifecycle, composeAdmin } from "./admin.js";
import { resolveOptions } from "./resolve-options.js";

interface StoreAdminOptions {
  /** A store that no server has open. `close` closes it. */
  readonly store: TaskStore;
  /** Name of the operator in the audit log. */
  readonly operator: string;
  /** The token that calls have to present. */
  readonly token: string;
  /** Default: no audit log. */
  readonly audit: AuditLog | undefined;
}

/** The operator's service of a store without a server. */
export interface StoreAdmin {
  readonly fetch: FetchHandler;
  close(): Promise<void>;
}

/** Takes the place of the agent that `resolveOptions` requires. It never runs, and `agents` below hides it. */
const placeholder = {
  card: {
    name: "none",
    description: "None.",
    version: "0",
    skills: [{ id: "none", name: "None", description: "None.", tags: ["none"] }],
  },
  async *execute(): AsyncGenerator<never> {},
};

const agents: AgentDirectory = { all: [], anyTenant: true, knownTenants: [], resolve: () => undefined };

const lifecycle: AdminLifecycle = {
  readiness: "ready",
  running: 0,
  beginDrain: () => {},
  afterStart: (next) => next,
  onReadiness: () => () => {},
};

/**
 * Serves a store to its operator without starting an engine: no task is recovered, no lease is claimed, nothing expires
 * and no notification is sent.
 */
export function createStoreAdmin({ store, operator, token, audit }: StoreAdminOptions): StoreAdmin {
  const admin = { tokens: [{ name: operator, role: "write" as const, token }] };
  const options = { agent: placeholder, store, admin, ...(audit !== undefined && { audit }) };
  const settings = { ...resolveOptions(options, false), agents };
  const { limits, logger, metrics } = settings;
  const agentOf = (): undefined => undefined;
  const engine = createEngine({ ...settings.engine, store, limits, logger, metrics, agentOf, openTenants: true });
  const parts = { engine, lifecycle, push: undefined, pushOperations: undefined };
  const access = settings.admin;
  if (access === undefined) throw new TypeError("unreachable: the option was given");
  const { fetch } = composeAdmin(settings, access, parts);
  return {
    fetch,
    async close() {
      engine.abandon();
      settings.audit?.flush();
      await store.close();
    },
  };
}
