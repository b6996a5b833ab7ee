import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RemoteOptions } from "../agent/delegation.js";
import { IDEMPOTENCY_EXTENSION } from "../wire/service-params.js";
import type { RemoteCallOptions, SubTaskClient } from "./client.js";

/** Tasks in one answer; what servers give at most (specification 3.1.4). */
const PAGE = 100;

/** Answers that are looked through: an agent with more tasks that are newer than a lost one has it forgotten. */
const PAGES = 3;

/** Messages of each task, the newest ones: what began a task a while ago is among them. */
const MESSAGES = 50;

/** A task that is known by a message alone. */
export interface SoughtTask {
  readonly messageId: string;
  /** Its context, where that is known. */
  readonly contextId?: string | undefined;
}

/**
 * The sub-task that a message has begun of which no answer came, before this process lived: where the other agent keeps no idempotency
 * keys, its newest tasks are looked through for the message. Undefined where there is none, or where it cannot be found out.
 * @throws A2AError
 */
export async function begunBefore(
  client: SubTaskClient,
  sought: SoughtTask,
  calling: RemoteCallOptions,
): Promise<Task | undefined> {
  if (client.card.capabilities?.extensions.some(({ uri }) => uri === IDEMPOTENCY_EXTENSION)) return undefined;
  return taskBegunBy(client, sought, calling);
}

/**
 * The newest task that has a message; undefined where there is none, or where it cannot be found out.
 * @throws A2AError
 */
export async function taskBegunBy(
  client: SubTaskClient,
  { messageId, contextId = "" }: SoughtTask,
  calling: RemoteOptions,
): Promise<Task | undefined> {
  let pageToken = "";
  for (let page = 0; page < PAGES; page++) {
    const request = { contextId, pageToken, pageSize: PAGE, historyLength: MESSAGES };
    const { tasks, nextPageToken } = await client.listTasks(request, calling);
    const begun = tasks.find(({ history }) => history.some((message) => message.messageId === messageId));
    if (begun !== undefined || nextPageToken === "") return begun;
    pageToken = nextPageToken;
  }
  return undefined;
}
