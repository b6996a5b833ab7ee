import type { Task } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { orAborted, within } from "../../../core/async.js";
import { isLoopback } from "../../../core/net.js";
import { newToken } from "../../../push-receiver/arrival.js";
import type { PushEvent } from "../../../push-receiver/index.js";
import { endsBlockingSend } from "../../../task/state.js";
import { checkCapability } from "../capability.js";
import { type Context, ownOption } from "../context.js";
import { usage } from "../errors.js";
import { httpUrl, wholeNumber } from "../kinds.js";
import { isSettled } from "../task-result.js";
import { openWebhook, type Webhook } from "./webhook.js";

/** Polls in place of which a notification is waited for: it may be lost. */
const POLLS = 10;

/** A wait for a task by push notifications. */
export interface PushWait {
  /** Configuration of the webhook, for the message that begins the task. */
  readonly config: { readonly url: string; readonly token: string };
  /** Waits until the task is finished or needs its client. @param task as the agent answered */
  settled(task: Task, history: { readonly historyLength?: number }): Promise<Task>;
  close(): Promise<void>;
}

/** Opens a webhook for one task. @throws Failure if the agent declares no push notifications, or cannot reach it */
export async function openPushWait(context: Context): Promise<PushWait> {
  const url = ownOption(context, "push-url", httpUrl);
  const port = ownOption(context, "push-port", wholeNumber(0, 65_535));
  const agent = await context.agent();
  checkCapability(agent, "pushNotifications");
  if (url === undefined && !isLoopback(agent.chosen.url)) {
    throw usage(
      "--push-listen: the agent is on another machine",
      "name the URL by which it reaches this one: --push-url",
    );
  }
  const token = newToken();
  context.out.redactor.add(token);
  const settledTasks = new SettledTasks();
  const webhook = await openWebhook({
    host: url === undefined || isLoopback(url) ? "127.0.0.1" : "0.0.0.0",
    port: port ?? (url === undefined ? 0 : Number(new URL(url).port || 80)),
    path: new URL(url ?? "http://a/").pathname,
    url,
    trust: { tokens: [token], acceptUnsigned: true },
    handle: async (event) => settledTasks.add(event),
    refused: (why) => context.out.warn(`a notification was refused: ${why}`),
  });
  context.out.note(`note: waiting for push notifications at ${webhook.url}`);
  return waitAt(context, webhook, token, settledTasks);
}

function waitAt(context: Context, webhook: Webhook, token: string, settledTasks: SettledTasks): PushWait {
  const { signal, settings } = context;
  return {
    config: { url: webhook.url, token },
    close: () => webhook.close(),
    settled: async (first, history) => {
      const { client } = await context.agent();
      let task = first;
      while (!isSettled(task)) {
        await orAborted(within(POLLS * settings.pollInterval, settledTasks.settled(task.id)), signal);
        task = await client.getTask({ id: task.id, ...history }, { signal });
      }
      return task;
    },
  };
}

class SettledTasks {
  readonly #settled = new Set<string>();
  #notify: () => void = () => {};

  add({ taskId, response: { payload } }: PushEvent): void {
    if (payload.case !== "task" && payload.case !== "statusUpdate") return;
    if (!endsBlockingSend(payload.value.status?.state ?? 0)) return;
    this.#settled.add(taskId);
    this.#notify();
  }

  /** Resolves when a task is finished or needs its client. */
  settled(taskId: string): Promise<void> {
    return new Promise((resolve) => {
      this.#notify = () => {
        if (this.#settled.has(taskId)) resolve();
      };
      this.#notify();
    });
  }
}
