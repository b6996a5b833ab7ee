import { create, type Message } from "@bufbuild/protobuf";
import {
  A2AService,
  type GetTaskPushNotificationConfigRequest,
  GetTaskRequestSchema,
  type ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsRequestSchema,
  type ListTaskPushNotificationConfigsResponse,
  type SendMessageRequest,
  type StreamResponse,
  type SubscribeToTaskRequest,
  type Task,
  type TaskPushNotificationConfig,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Call } from "../../core/call.js";
import { A2AError, taskNotFound } from "../../core/error.js";
import { resumeParameters } from "../../wire/service-params.js";
import { EndedEvents } from "../ended-events.js";
import type { Asked, Serve } from "../serve.js";
import { again } from "../translate.js";

/**
 * What a server of A2A 0.3, and of 0.2, does otherwise than one of 1.0, on messages of 1.0: whatever binding a call comes over, its
 * codec has made them of it.
 *
 * - A stream ends with a status that says so, where the task is over or waits for its client; 1.0 goes on behind the latter.
 * - Whoever subscribes to a task that is over, or waits, gets the task and that status; 1.0 refuses the former.
 * - Push configurations: without an id there is one for each task, which a message brings along, setting replaces, and reading finds;
 *   lists have no pages.
 * - The extended card that an agent does not have is not configured; 1.0 knows a difference.
 */
export function behave(service: Serve): Serve {
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

type Events = AsyncIterable<StreamResponse>;

/** One that is over cannot be subscribed to in 1.0: it is read instead. */
async function subscribe(service: Serve, asked: Asked): Promise<Events> {
  const { call } = asked;
  const { id } = asked.request as SubscribeToTaskRequest;
  const events = (await service(asked)) as Events;
  return new EndedEvents(events, {
    // A resumed stream begins with the missed events: the status in which the task waits comes after them.
    endsWaiting: !resumes(call),
    instead: async (error) => {
      const isOver = error instanceof A2AError && error.reason === "UNSUPPORTED_OPERATION";
      if (!isOver || error.metadata.taskId !== id) throw error;
      const request = create(GetTaskRequestSchema, { id });
      const task = (await again(service, { method: A2AService.method.getTask, request, call })) as Task;
      return { task, written: () => call.written?.() };
    },
  });
}

/** True if a call resumes after an event that its client has. */
export function resumes(call: Call): boolean {
  return (call.header("last-event-id") ?? "") !== "" || call.header(resumeParameters.after) !== undefined;
}

/** The configuration that comes with a message, without an id, is the one of its task that is set without an id. */
function nameConfig({ request, call }: Asked): void {
  const { message, configuration } = request as SendMessageRequest;
  const config = configuration?.taskPushNotificationConfig;
  if (config === undefined || config.id !== "") return;
  config.id = message?.taskId ?? "";
  // A new task has no id yet.
  call.namesConfigByTask = config.id === "";
}

interface PushConfigs {
  set(asked: Asked): Promise<Message>;
  get(asked: Asked): Promise<Message>;
  list(asked: Asked): Promise<Message>;
}

function pushConfigsOf(service: Serve): PushConfigs {
  const list = async (call: Call, taskId: string): Promise<ListTaskPushNotificationConfigsResponse> => {
    const method = A2AService.method.listTaskPushNotificationConfigs;
    const pageOf = async (pageToken: string): Promise<ListTaskPushNotificationConfigsResponse> => {
      const request = create(ListTaskPushNotificationConfigsRequestSchema, { taskId, pageToken });
      return (await again(service, { method, request, call })) as ListTaskPushNotificationConfigsResponse;
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
      const request = asked.request as TaskPushNotificationConfig;
      // Clients from before ids overwrite the one configuration of a task.
      if (request.id === "") request.id = request.taskId;
      const config = (await service(asked)) as TaskPushNotificationConfig;
      // The client expects its input in the response.
      config.token = request.token;
      return config;
    },
    async get(asked) {
      const { id, taskId } = asked.request as GetTaskPushNotificationConfigRequest;
      if (id !== "") return (await service(asked)) as Message;
      const { configs } = await list(asked.call, taskId);
      const config = configs.find((each) => each.id === taskId) ?? configs[0];
      if (config === undefined) throw taskNotFound(taskId);
      return config;
    },
    // gRPC has pages, on request.
    async list(asked) {
      const { taskId, pageSize, pageToken } = asked.request as ListTaskPushNotificationConfigsRequest;
      return pageSize === 0 && pageToken === "" ? list(asked.call, taskId) : ((await service(asked)) as Message);
    },
  };
}

function withoutCard(error: unknown): never {
  if (!(error instanceof A2AError) || error.reason !== "UNSUPPORTED_OPERATION") throw error;
  throw new A2AError("EXTENDED_AGENT_CARD_NOT_CONFIGURED", error.message);
}
