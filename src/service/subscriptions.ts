import type { Call } from "../core/call.js";
import { limitReached } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { TransientMap } from "../core/maps.js";
import { callerKeyOf } from "./caller-shares.js";

/** Limit of subscriptions to one task, without the streams of sends. */
export const taskSubscriptions = { max: 10_000 } as const;

/** Number of subscriptions of one task. */
class Subscribers {
  count = 0;
  readonly byCaller = new Map<string, number>();
}

/** Counts the subscriptions of each task in this process. The stream of a send is not a subscription. */
export class Subscriptions {
  readonly #limits: Limits;
  readonly #tasks = new TransientMap<Subscribers>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /**
   * Counts a subscription to a task until `end`. The caller may see the task.
   *
   * @throws A2AError with reason TOO_MANY_REQUESTS
   */
  begin(call: Call, taskId: string): void {
    const { maxSubscriptionsPerTaskPerCaller } = this.#limits;
    const task = this.#tasks.get(taskId) ?? new Subscribers();
    const caller = callerKeyOf(call);
    const own = caller === undefined ? 0 : (task.byCaller.get(caller) ?? 0);
    if (task.count >= taskSubscriptions.max) {
      throw limitReached("maxSubscriptionsPerTask", `The task has ${taskSubscriptions.max} subscriptions.`);
    }
    if (own >= maxSubscriptionsPerTaskPerCaller) {
      const message = `This caller has ${maxSubscriptionsPerTaskPerCaller} subscriptions to the task.`;
      throw limitReached("maxSubscriptionsPerTaskPerCaller", message);
    }
    if (task.count++ === 0) this.#tasks.set(taskId, task);
    if (caller !== undefined) task.byCaller.set(caller, own + 1);
  }

  /** Removes a subscription that `begin` counted. */
  end(call: Call, taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return;
    if (--task.count === 0) this.#tasks.delete(taskId);
    const caller = callerKeyOf(call);
    if (caller === undefined) return;
    const left = (task.byCaller.get(caller) ?? 1) - 1;
    if (left > 0) task.byCaller.set(caller, left);
    else task.byCaller.delete(caller);
  }
}
