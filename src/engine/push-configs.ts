import { taskNotFound } from "../core/error.js";
import type { Logger } from "../core/log.js";
import { isOf } from "../store/check.js";
import type { NewPushConfig, PushConfigKey, TaskStore } from "../store/task-store.js";
import { type CountedTenant, countedConfig } from "./counted-tenant.js";
import { toCallerError, tooManyPushConfigs } from "./outage.js";
import type { Scope } from "./tasks.js";

/** What is needed of the engine. */
export interface PushConfigsSource {
  readonly store: TaskStore;
  readonly counted: CountedTenant;
  readonly logger: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Told when something may be due for a task although nothing was appended to it. */
  readonly news: (taskId: string) => void;
}

/** The push notification configurations of tasks, for calls: only of tasks that the call may see. Their content is opaque here. */
export class PushConfigs {
  readonly #source: PushConfigsSource;

  constructor(source: PushConfigsSource) {
    this.#source = source;
  }

  /** Looks whether the scope may see a task. @throws A2AError TASK_NOT_FOUND, UNAVAILABLE */
  async check(scope: Scope, taskId: string): Promise<void> {
    await this.#visible(scope, taskId, async () => {});
  }

  /** Creates a configuration, or replaces the one with its id. @throws A2AError TASK_NOT_FOUND, TOO_MANY_REQUESTS, UNAVAILABLE */
  async put(scope: Scope, taskId: string, config: NewPushConfig): Promise<void> {
    const { store, counted, now, news } = this.#source;
    const own = countedConfig(config, scope, counted);
    const outcome = await this.#visible(scope, taskId, () => store.putPushConfig({ taskId, ...own, now: now() }));
    if (outcome === "no-task") throw taskNotFound(taskId);
    if (outcome !== "put") throw tooManyPushConfigs(outcome === "too-many-of-task" ? "task" : "owner");
    news(taskId);
  }

  /** What was stored, or undefined. @throws A2AError TASK_NOT_FOUND, UNAVAILABLE */
  async get(scope: Scope, key: PushConfigKey): Promise<Uint8Array | undefined> {
    const found = await this.#visible(scope, key.taskId, () => this.#source.store.getPushConfig(key));
    return found?.bytes;
  }

  /** The configurations after an id, in the order of their ids. @throws A2AError TASK_NOT_FOUND, UNAVAILABLE */
  async list(
    scope: Scope,
    request: { readonly taskId: string; readonly after: string; readonly limit: number },
  ): Promise<{ readonly configId: string; readonly bytes: Uint8Array }[]> {
    const page = await this.#visible(scope, request.taskId, () => this.#source.store.listPushConfigs(request));
    return page.map(({ configId, config }) => ({ configId, bytes: config.bytes }));
  }

  /** Removes a configuration, if it is there. @throws A2AError TASK_NOT_FOUND, UNAVAILABLE */
  async delete(scope: Scope, key: PushConfigKey): Promise<void> {
    await this.#visible(scope, key.taskId, () => this.#source.store.deletePushConfig(key));
  }

  /** Does something with a task that the scope may see: its scope never changes, so nothing can come in between. */
  async #visible<T>(scope: Scope, taskId: string, act: () => Promise<T>): Promise<T> {
    try {
      const head = await this.#source.store.head({ taskId });
      if (head === undefined || !isOf(head, scope)) throw taskNotFound(taskId);
      return await act();
    } catch (error) {
      throw toCallerError(this.#source.logger, error);
    }
  }
}
