import type { Task } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import { orAborted, Waiters, within } from "../../../core/async.js";
import { isLoopback } from "../../../core/net.js";
import { newToken } from "../../../push-receiver/arrival.js";
import { checkCapability } from "../capability.js";
import { type Context, ownOption } from "../context.js";
import { usage } from "../errors.js";
import { tellsState } from "../events.js";
import { httpUrl, wholeNumber } from "../kinds.js";
import { isSettled } from "../task-result.js";
import { openWebhook } from "./webhook.js";

/**
 * Poll intervals that a wait for a notification may take. Then the task is read, because the notification may be lost.
 */
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
  const settledIds = new Set<string>();
  const notified = new Waiters();
  const webhook = await openWebhook({
    host: url === undefined || isLoopback(url) ? "127.0.0.1" : "0.0.0.0",
    port: port ?? (url === undefined ? 0 : Number(new URL(url).port || 80)),
    path: new URL(url ?? "http://a/").pathname,
    url,
    trust: { tokens: [token], acceptUnsigned: true },
    handle: async ({ taskId, response }) => {
      if (!tellsState(response)) return;
      settledIds.add(taskId);
      notified.release();
    },
    refused: (why) => context.out.warn(`a notification was refused: ${why}`),
  });
  context.out.note(`note: waiting for push notifications at ${webhook.url}`);
  const { signal, settings } = context;
  return {
    config: { url: webhook.url, token },
    close: () => webhook.close(),
    settled: async (first, history) => {
      let task = first;
      let polls = POLLS;
      while (!isSettled(task)) {
        if (!settledIds.has(task.id)) await orAborted(within(polls * settings.pollInterval, notified.wait()), signal);
        // After a notification the task may run again, or the answer may be older. So the next wait takes one poll
        // interval.
        polls = settledIds.delete(task.id) ? 1 : POLLS;
        task = await agent.client.getTask({ id: task.id, ...history }, { signal });
      }
      return task;
    },
  };
}
