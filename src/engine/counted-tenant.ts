import type { NewPushConfig, TaskScope } from "../store/task-store.js";

/**
 * Under which tenant what an owner has counts for the limits of an owner; undefined: under all of them together. Executions, open
 * tasks and push configurations are all counted by it.
 */
export type CountedTenant = (tenant: string, owner: string) => string | undefined;

/**
 * Where callers may name any tenant, each one that a caller thinks of would bring the limits anew, so all of them are one there. Callers
 * without a name are one owner under each tenant in either case: to make them one under all would let whoever takes all that they may
 * have keep out those of every tenant.
 *
 * It depends on the server's options and on what the store has of a task alone, so a restart counts the same.
 */
export function countedTenant(openTenants: boolean): CountedTenant {
  return openTenants ? (tenant, owner) => (owner === "" ? tenant : undefined) : (tenant) => tenant;
}

/** A push configuration of a task, as its owner's limit counts it. */
export function countedConfig(config: NewPushConfig, scope: TaskScope, counted: CountedTenant): NewPushConfig {
  return counted(scope.tenant, scope.owner) === undefined ? { ...config, ofAllTenants: true } : config;
}
