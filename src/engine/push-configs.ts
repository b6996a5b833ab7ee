import { taskNotFound } from "../core/error.js";
import type { NewPushConfig, PushConfigKey, TaskStore } from "../store/task-store.js";
import type { Scope } from "../task/task-names.js";
import { toCallerError, tooManyPushConfigs } from "./log/outage.js";
import { type QuotaScope, withQuotaScope } from "./quota-scope.js";
import type { Tasks } from "./read/tasks.js";

/** A stored configuration, with the ids of its row. */
interface FoundConfig {
  readonly key: PushConfigKey;
  readonly bytes: Uint8Array;
}

interface PushConfigsSource {
  readonly store: TaskStore;
  readonly tasks: Pick<Tasks, "storedId" | "lookup">;
  readonly quotaScope: QuotaScope;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called when a notification may be due for a task without an append. */
  readonly notify: (taskId: string) => void;
}

/** Stores push notification configurations of tasks, for calls that may see the task. Their content is opaque here. */
export class PushConfigs {
  readonly #source: PushConfigsSource;

  constructor(source: PushConfigsSource) {
    this.#source = source;
  }

  /** Returns the stored id of a task that the scope may see. @throws A2AError TASK_NOT_FOUND, UNAVAILABLE */
  find(scope: Scope, taskId: string): Promise<string> {
    return this.#visible(scope, taskId, async (storedId) => storedId);
  }

  /** Creates or replaces a configuration. @throws A2AError TASK_NOT_FOUND, TOO_MANY_REQUESTS, UNAVAILABLE */
  async put(scope: Scope, taskId: string, config: NewPushConfig): Promise<void> {
    const { store, quotaScope, now, notify } = this.#source;
    const own = withQuotaScope(config, scope, quotaScope);
    const outcome = await this.#visible(scope, taskId, (storedId) =>
      store.putPushConfig({ taskId: storedId, ...own, now: now() }),
    );
    if (outcome === "no-task") throw taskNotFound(taskId);
    if (outcome !== "put") throw tooManyPushConfigs(outcome === "too-many-of-task" ? "task" : "owner");
    notify(taskId);
  }

  /** Returns the stored configuration, or undefined. @throws A2AError TASK_NOT_FOUND, UNAVAILABLE */
  get(scope: Scope, { taskId, configId }: PushConfigKey): Promise<FoundConfig | undefined> {
    return this.#visible(scope, taskId, async (storedId) => {
      const key = { taskId: storedId, configId };
      const found = await this.#source.store.getPushConfig(key);
      return found && { key, bytes: found.bytes };
    });
  }

  /** Returns the configurations after an id, ordered by id. @throws A2AError TASK_NOT_FOUND, UNAVAILABLE */
  list(
    scope: Scope,
    request: { readonly taskId: string; readonly after: string; readonly limit: number },
  ): Promise<FoundConfig[]> {
    return this.#visible(scope, request.taskId, async (taskId) => {
      const page = await this.#source.store.listPushConfigs({ ...request, taskId });
      return page.map(({ configId, config }) => ({ key: { taskId, configId }, bytes: config.bytes }));
    });
  }

  /** Removes a configuration if it exists. @throws A2AError TASK_NOT_FOUND, UNAVAILABLE */
  async delete(scope: Scope, key: PushConfigKey): Promise<void> {
    await this.#visible(scope, key.taskId, (taskId) => this.#source.store.deletePushConfig({ ...key, taskId }));
  }

  /**
   * Runs an operation on a task that the scope may see, with its stored id. A task's scope never changes, so the check
   * cannot become stale.
   */
  async #visible<T>(scope: Scope, taskId: string, act: (storedId: string) => Promise<T>): Promise<T> {
    const { tasks } = this.#source;
    try {
      const storedId = await tasks.storedId(scope, taskId);
      if ((await tasks.lookup(scope, storedId)) === undefined) throw taskNotFound(taskId);
      return await act(storedId);
    } catch (error) {
      throw toCallerError(error);
    }
  }
}
