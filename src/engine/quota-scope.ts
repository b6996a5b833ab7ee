import type { NewPushConfig, TaskScope } from "../store/task-store.js";

/**
 * Returns the tenant that an owner's usage (executions, open tasks, push configurations) is counted against, or
 * undefined to count it across all tenants.
 */
export type QuotaScope = (tenant: string, owner: string) => string | undefined;

/**
 * Counts across tenants if callers may name any tenant: otherwise each invented tenant would give a caller fresh
 * limits. Anonymous callers are always counted per tenant: counted together, a caller that exhausts its limits in one
 * tenant would exhaust them in all tenants.
 *
 * The result depends only on the server's options and the stored task, so the counts survive a restart.
 */
export function quotaScopeFor(openTenants: boolean): QuotaScope {
  return openTenants ? (tenant, owner) => (owner === "" ? tenant : undefined) : (tenant) => tenant;
}

/** Returns a push configuration of a task with the scope that its owner's limit is counted in. */
export function withQuotaScope(config: NewPushConfig, scope: TaskScope, quotaScope: QuotaScope): NewPushConfig {
  return quotaScope(scope.tenant, scope.owner) === undefined ? { ...config, ofAllTenants: true } : config;
}
