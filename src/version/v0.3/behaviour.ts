import { create, type Message } from "@bufbuild/protobuf";
import {
  A2AService,
  GetTaskPushNotificationConfigRequestSchema,
  GetTaskRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  type ListTaskPushNotificationConfigsResponse,
  ListTaskPushNotificationConfigsResponseSchema,
  SendMessageRequestSchema,
  type StreamResponse,
  SubscribeToTaskRequestSchema,
  TaskPushNotificationConfigSchema,
  TaskSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Call } from "../../core/call.js";
import { A2AError, taskNotFound } from "../../core/error.js";
import { expectMessage } from "../../wire/expect-message.js";
import { resumeParameters } from "../../wire/service-params.js";
import { EndedEvents } from "../ended-events.js";
import { setVersionFacts, versionFactsOf } from "../facts.js";
import { again, type MethodHandler, type MethodInvocation } from "../method-handler.js";

/**
 * Applies the behavior of A2A 0.3 and 0.2 to messages of 1.0, to which the codec of every binding has converted them.
 * The differences from 1.0 are:
 *
 * - A stream ends with a status marked as the last one if the task has ended or waits for its client. In 1.0 the stream
 *   of a waiting task continues.
 * - A subscription to a task that has ended or waits returns the task and that status. 1.0 rejects it for an ended
 *   task.
 * - A push configuration without an id is the only one of its task: a message may contain it, setting replaces it, and
 *   reading returns it. Lists have no pages.
 * - An extended card that the agent does not have is always "not configured". 1.0 distinguishes two cases.
 */
export function behave(service: MethodHandler): MethodHandler {
  const { method } = A2AService;
  const pushConfigs = pushConfigsOf(service);
  return (asked) => {
    switch (asked.method) {
      case method.sendMessage:
        nameConfig(asked);
        return service(asked);
      case method.sendStreamingMessage:
        nameConfig(asked);
        return service(asked).then((events) => new EndedEvents(events as Events));
      case method.subscribeToTask:
        return subscribe(service, asked);
      case method.createTaskPushNotificationConfig:
        return pushConfigs.set(asked);
      case method.getTaskPushNotificationConfig:
        return pushConfigs.get(asked);
      case method.listTaskPushNotificationConfigs:
        return pushConfigs.list(asked);
      case method.getExtendedAgentCard:
        return service(asked).catch(withoutCard);
      default:
        return service(asked);
    }
  };
}

/** The events of a stream. */
export type Events = AsyncIterable<StreamResponse>;

/** Subscribes to a task, or reads it if it has ended, because 1.0 rejects subscriptions to ended tasks. */
async function subscribe(service: MethodHandler, asked: MethodInvocation): Promise<Events> {
  const { call } = asked;
  const { id } = expectMessage(SubscribeToTaskRequestSchema, asked.request);
  const events = (await service(asked)) as Events;
  return new EndedEvents(events, {
    // A resumed stream begins with the missed events: the status in which the task waits comes after them.
    endsWaiting: !resumes(call),
    instead: async (error) => {
      const isOver = error instanceof A2AError && error.reason === "UNSUPPORTED_OPERATION";
      if (!isOver || error.metadata.taskId !== id) throw error;
      const request = create(GetTaskRequestSchema, { id });
      const task = expectMessage(
        TaskSchema,
        await again(service, { method: A2AService.method.getTask, request, call }),
      );
      return { task, written: () => call.written?.() };
    },
  });
}

/** Returns true if a call resumes after an event. */
export function resumes(call: Call): boolean {
  return (call.header("last-event-id") ?? "") !== "" || call.header(resumeParameters.after) !== undefined;
}

/** Gives a message's configuration without an id the id of its task, like a configuration that is set without an id. */
function nameConfig({ request, call }: MethodInvocation): void {
  const { message, configuration } = expectMessage(SendMessageRequestSchema, request);
  const config = configuration?.taskPushNotificationConfig;
  if (config === undefined || config.id !== "") return;
  config.id = message?.taskId ?? "";
  // A new task has no id yet.
  if (config.id === "") setVersionFacts(call, { ...versionFactsOf(call), namesConfigByTask: true });
}

interface PushConfigs {
  set(asked: MethodInvocation): Promise<Message>;
  get(asked: MethodInvocation): Promise<Message>;
  list(asked: MethodInvocation): Promise<Message>;
}

function pushConfigsOf(service: MethodHandler): PushConfigs {
  const list = async (call: Call, taskId: string): Promise<ListTaskPushNotificationConfigsResponse> => {
    const method = A2AService.method.listTaskPushNotificationConfigs;
    const pageOf = async (pageToken: string): Promise<ListTaskPushNotificationConfigsResponse> => {
      const request = create(ListTaskPushNotificationConfigsRequestSchema, { taskId, pageToken });
      return expectMessage(
        ListTaskPushNotificationConfigsResponseSchema,
        await again(service, { method, request, call }),
      );
    };
    const all = await pageOf("");
    while (all.nextPageToken !== "") {
      const { configs, nextPageToken } = await pageOf(all.nextPageToken);
      all.configs.push(...configs);
      all.nextPageToken = nextPageToken;
    }
    return all;
  };
  return {
    async set(asked) {
      const request = expectMessage(TaskPushNotificationConfigSchema, asked.request);
      // Clients of versions without ids overwrite the only configuration of a task.
      if (request.id === "") request.id = request.taskId;
      const config = expectMessage(TaskPushNotificationConfigSchema, await service(asked));
      // The client expects its input in the response.
      config.token = request.token;
      return config;
    },
    async get(asked) {
      const { id, taskId } = expectMessage(GetTaskPushNotificationConfigRequestSchema, asked.request);
      if (id !== "") return (await service(asked)) as Message;
      const { configs } = await list(asked.call, taskId);
      const config = configs.find((each) => each.id === taskId) ?? configs[0];
      if (config === undefined) throw taskNotFound(taskId);
      return config;
    },
    // gRPC has pages, on request.
    async list(asked) {
      const { taskId, pageSize, pageToken } = expectMessage(
        ListTaskPushNotificationConfigsRequestSchema,
        asked.request,
      );
      return pageSize === 0 && pageToken === "" ? list(asked.call, taskId) : ((await service(asked)) as Message);
    },
  };
}

function withoutCard(error: unknown): never {
  if (!(error instanceof A2AError) || error.reason !== "UNSUPPORTED_OPERATION") throw error;
  throw new A2AError("EXTENDED_AGENT_CARD_NOT_CONFIGURED", error.message);
}
