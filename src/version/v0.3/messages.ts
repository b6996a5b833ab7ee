import { create, type DescMessage, type DescMethod } from "@bufbuild/protobuf";
import * as earlier from "../../../gen/a2a/v1/a2a_pb.js";
import * as native from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { jsonOf } from "../../wire/json-value.js";
import { isLast } from "../ended-events.js";
import { cardPairs } from "./card-messages.js";
import { asObject, unwrapData, valueFrom } from "./data-part.js";
import { type Convert, Converters, type Pair, pair } from "./pair-converters.js";
import { configIdsOf, configName, resourceTaskId, taskName } from "./resource-names.js";

// Counterparts in the contracts of A2A 0.3 and 1.0. Fields of the same name are not listed.

/** Tasks, messages and their parts. */
const taskPairs: readonly Pair[] = [
  pair(earlier.TaskSchema, native.TaskSchema, {
    // The contract requires a status, so an unknown one is reported as such.
    down: (_, task) => {
      task.status ??= create(earlier.TaskStatusSchema);
    },
  }),
  pair(earlier.TaskStatusSchema, native.TaskStatusSchema, { renamed: { update: "message" } }),
  pair(earlier.MessageSchema, native.MessageSchema, {
    renamed: { content: "parts" },
    onlyNative: ["referenceTaskIds"],
    down: (_, message) => {
      if (message.role === earlier.Role.UNSPECIFIED) message.role = earlier.Role.AGENT;
    },
  }),
  pair(earlier.ArtifactSchema, native.ArtifactSchema),
  pair(earlier.PartSchema, native.PartSchema, {
    onlyEarlier: ["text", "file", "data", "metadata"],
    onlyNative: ["text", "raw", "url", "data", "metadata", "filename", "mediaType"],
    up: partUp,
    down: partDown,
  }),
  pair(earlier.TaskStatusUpdateEventSchema, native.TaskStatusUpdateEventSchema, {
    onlyEarlier: ["final"],
    down: (event, made) => {
      made.final = isLast(event);
    },
  }),
  pair(earlier.TaskArtifactUpdateEventSchema, native.TaskArtifactUpdateEventSchema),
  pair(earlier.SendMessageResponseSchema, native.SendMessageResponseSchema, { renamed: { msg: "message" } }),
  pair(earlier.StreamResponseSchema, native.StreamResponseSchema, { renamed: { msg: "message" } }),
];

/** Converts a part. A part without content is rejected like that of any request. */
function partUp({ part, metadata }: earlier.Part, made: native.Part): void {
  if (metadata !== undefined) made.metadata = metadata;
  if (part.case === "text") made.content = { case: "text", value: part.value };
  if (part.case === "file") {
    const { file, mimeType, name } = part.value;
    if (file.case === "fileWithUri") made.content = { case: "url", value: file.value };
    if (file.case === "fileWithBytes") made.content = { case: "raw", value: file.value };
    made.mediaType = mimeType;
    made.filename = name;
  }
  if (part.case === "data") {
    const value = valueFrom(part.value.data ?? {});
    if (value !== undefined) made.content = { case: "data", value };
    unwrapData(made);
  }
}

/** @throws A2AError INVALID_AGENT_RESPONSE for a part without content, which 0.3 cannot express */
function partDown({ content, metadata, filename, mediaType }: native.Part, made: earlier.Part): void {
  if (metadata !== undefined) made.metadata = metadata;
  const file = (value: earlier.FilePart["file"]): void => {
    made.part = {
      case: "file",
      value: create(earlier.FilePartSchema, { file: value, mimeType: mediaType, name: filename }),
    };
  };
  switch (content.case) {
    case "text":
      made.part = { case: "text", value: content.value };
      return;
    case "url":
      return file({ case: "fileWithUri", value: content.value });
    case "raw":
      return file({ case: "fileWithBytes", value: content.value });
    case "data": {
      const { data, metadata: more } = asObject(jsonOf(content.value), metadata);
      made.part = { case: "data", value: create(earlier.DataPartSchema, { data }) };
      if (more !== undefined) made.metadata = more;
      return;
    }
    default:
      throw new A2AError("INVALID_AGENT_RESPONSE", "A part without content cannot be expressed in A2A 0.3.");
  }
}

/** Webhooks. */
const pushPairs: readonly Pair[] = [
  pair(earlier.AuthenticationInfoSchema, native.AuthenticationInfoSchema, {
    onlyEarlier: ["schemes"],
    onlyNative: ["scheme"],
    up: ({ schemes: [first = ""] }, made) => {
      made.scheme = first;
    },
    down: ({ scheme }, made) => {
      if (scheme !== "") made.schemes = [scheme];
    },
  }),
  pair(earlier.PushNotificationConfigSchema, native.TaskPushNotificationConfigSchema, {
    onlyNative: ["tenant", "taskId"],
    // An empty list of schemes means no authentication.
    up: ({ authentication }, made) => {
      if (authentication?.schemes.length === 0) delete made.authentication;
    },
  }),
  pair(earlier.TaskPushNotificationConfigSchema, native.TaskPushNotificationConfigSchema, {
    onlyEarlier: ["name", "pushNotificationConfig"],
    onlyNative: [...webhookFields(), "tenant"],
    up: ({ name, pushNotificationConfig }, made) => {
      const { taskId, id } = configIdsOf(name);
      Object.assign(made, upWebhook(pushNotificationConfig), { taskId });
      if (id !== "") made.id = id;
    },
    down: (config, made) => {
      made.name = configName(config);
      made.pushNotificationConfig = downWebhook(config);
    },
  }),
  pair(earlier.CreateTaskPushNotificationConfigRequestSchema, native.TaskPushNotificationConfigSchema, {
    onlyEarlier: ["parent", "configId", "config"],
    onlyNative: [...webhookFields(), "tenant"],
    up: ({ parent, configId, config }, made) => {
      const named = configIdsOf(config?.name ?? "");
      const taskId = resourceTaskId(parent);
      Object.assign(made, upWebhook(config?.pushNotificationConfig));
      // If the two name different tasks, the request is ambiguous and is treated as one without a task.
      made.taskId = named.taskId === "" || named.taskId === taskId ? taskId : "";
      made.id = configId || made.id || named.id;
    },
    down: (config, made) => {
      made.parent = taskName(config.taskId);
      made.configId = config.id;
      made.config = create(earlier.TaskPushNotificationConfigSchema, {
        name: configName(config),
        pushNotificationConfig: downWebhook(config),
      });
    },
  }),
  pair(earlier.ListTaskPushNotificationConfigResponseSchema, native.ListTaskPushNotificationConfigsResponseSchema),
];

function webhookFields(): string[] {
  return ["taskId", "id", "url", "token", "authentication"];
}

function upWebhook(config: earlier.PushNotificationConfig | undefined): native.TaskPushNotificationConfig | undefined {
  if (config === undefined) return undefined;
  return converters.to(
    "up",
    native.TaskPushNotificationConfigSchema,
    earlier.PushNotificationConfigSchema,
  )(config) as native.TaskPushNotificationConfig;
}

function downWebhook(config: native.TaskPushNotificationConfig): earlier.PushNotificationConfig {
  return converters.to("down", earlier.PushNotificationConfigSchema)(config) as earlier.PushNotificationConfig;
}

const configIds = {
  onlyEarlier: ["name"],
  onlyNative: ["tenant", "taskId", "id"],
  up: ({ name }: { name: string }, made: { taskId: string; id: string }): void => {
    Object.assign(made, configIdsOf(name));
  },
  down: (ids: { taskId: string; id: string }, made: { name: string }): void => {
    made.name = configName(ids);
  },
};

const taskIds = {
  onlyEarlier: ["name"],
  onlyNative: ["tenant", "id"],
  up: ({ name }: { name: string }, made: { id: string }): void => {
    made.id = resourceTaskId(name);
  },
  down: ({ id }: { id: string }, made: { name: string }): void => {
    made.name = taskName(id);
  },
};

/** Requests. */
const requestPairs: readonly Pair[] = [
  pair(earlier.SendMessageRequestSchema, native.SendMessageRequestSchema, {
    renamed: { request: "message" },
    onlyNative: ["tenant"],
  }),
  pair(earlier.SendMessageConfigurationSchema, native.SendMessageConfigurationSchema, {
    renamed: { pushNotification: "taskPushNotificationConfig" },
    onlyEarlier: ["blocking"],
    onlyNative: ["returnImmediately"],
    // An explicit `false` is indistinguishable from the default, so the contract's default applies: do not wait.
    up: ({ blocking }, made) => {
      made.returnImmediately = !blocking;
    },
    down: ({ returnImmediately }, made) => {
      made.blocking = !returnImmediately;
    },
  }),
  pair(earlier.GetTaskRequestSchema, native.GetTaskRequestSchema, taskIds),
  pair(earlier.CancelTaskRequestSchema, native.CancelTaskRequestSchema, {
    ...taskIds,
    onlyNative: [...taskIds.onlyNative, "metadata"],
  }),
  pair(earlier.TaskSubscriptionRequestSchema, native.SubscribeToTaskRequestSchema, taskIds),
  pair(
    earlier.GetTaskPushNotificationConfigRequestSchema,
    native.GetTaskPushNotificationConfigRequestSchema,
    configIds,
  ),
  pair(
    earlier.DeleteTaskPushNotificationConfigRequestSchema,
    native.DeleteTaskPushNotificationConfigRequestSchema,
    configIds,
  ),
  pair(earlier.ListTaskPushNotificationConfigRequestSchema, native.ListTaskPushNotificationConfigsRequestSchema, {
    onlyEarlier: ["parent"],
    onlyNative: ["tenant", "taskId"],
    up: ({ parent }, made) => {
      made.taskId = resourceTaskId(parent);
    },
    down: ({ taskId }, made) => {
      made.parent = taskName(taskId);
    },
  }),
  pair(earlier.GetAgentCardRequestSchema, native.GetExtendedAgentCardRequestSchema, { onlyNative: ["tenant"] }),
];

/** All pairs, for the check of completeness. */
export const pairs: readonly Pair[] = [...taskPairs, ...pushPairs, ...requestPairs, ...cardPairs];

const converters = new Converters(pairs);

/** An rpc of 0.3 and its counterpart in 1.0. */
interface MethodPair {
  readonly earlier: DescMethod;
  readonly native: DescMethod;
}

const { method: was } = earlier.A2AService;
const { method: is } = native.A2AService;

export const methodPairs: readonly MethodPair[] = [
  { earlier: was.sendMessage, native: is.sendMessage },
  { earlier: was.sendStreamingMessage, native: is.sendStreamingMessage },
  { earlier: was.getTask, native: is.getTask },
  { earlier: was.cancelTask, native: is.cancelTask },
  { earlier: was.taskSubscription, native: is.subscribeToTask },
  { earlier: was.createTaskPushNotificationConfig, native: is.createTaskPushNotificationConfig },
  { earlier: was.getTaskPushNotificationConfig, native: is.getTaskPushNotificationConfig },
  { earlier: was.listTaskPushNotificationConfig, native: is.listTaskPushNotificationConfigs },
  { earlier: was.getAgentCard, native: is.getExtendedAgentCard },
  { earlier: was.deleteTaskPushNotificationConfig, native: is.deleteTaskPushNotificationConfig },
];

const unchanged: Convert = (message) => message;

/** Converts a message of 0.3 to 1.0. `from` and `to` are the request or response types of a method. */
export function toNative(from: DescMessage, to: DescMessage): Convert {
  return from.typeName === to.typeName ? unchanged : converters.to("up", to, from);
}

/** Converts a message of 1.0 to 0.3. */
export function fromNative(from: DescMessage, to: DescMessage): Convert {
  return from.typeName === to.typeName ? unchanged : converters.to("down", to, from);
}
