import type { Task } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { RemoteOptions } from "../agent/delegation.js";
import { IDEMPOTENCY_EXTENSION } from "../wire/service-params.js";
import type { RemoteCallOptions, SubTaskClient } from "./client.js";

/** Tasks per page, the maximum that servers return (specification 3.1.4). */
const PAGE = 100;

/** Maximum number of pages searched. A lost task is not found if more tasks are newer. */
const PAGES = 3;

/** Newest messages per task, which include the first one of a recent task. */
const MESSAGES = 50;

/** A task of which only a message is known. */
interface SoughtTask {
  readonly messageId: string;
  /** Its context, if known. */
  readonly contextId?: string | undefined;
}

/**
 * Finds the sub-task of a message whose answer was lost in a crash. If the other agent does not support idempotency
 * keys, its newest tasks are searched for the message. Returns undefined if none is found or they cannot be listed.
 * @throws A2AError
 */
export async function findExistingSend(
  client: SubTaskClient,
  sought: SoughtTask,
  calling: RemoteCallOptions,
): Promise<Task | undefined> {
  if (client.card.capabilities?.extensions.some(({ uri }) => uri === IDEMPOTENCY_EXTENSION)) return undefined;
  return taskBegunBy(client, sought, calling);
}

/**
 * Returns the newest task that contains a message; undefined if none is found or they cannot be listed.
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
