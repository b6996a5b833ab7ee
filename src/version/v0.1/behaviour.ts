import { hash } from "node:crypto";
import { create, type Message } from "@bufbuild/protobuf";
import {
  A2AService,
  DeleteTaskPushNotificationConfigRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  GetTaskRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  ListTaskPushNotificationConfigsResponseSchema,
  SendMessageConfigurationSchema,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SendMessageResponse,
  SendMessageResponseSchema,
  SubscribeToTaskRequestSchema,
  type Task,
  TaskPushNotificationConfigSchema,
  TaskSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Call } from "../../core/call.js";
import { A2AError, invalid } from "../../core/error.js";
import { expectMessage } from "../../wire/expect-message.js";
import { carry } from "../../wire/marks.js";
import { IDEMPOTENCY_KEY, RESUME_EXTENSION } from "../../wire/service-params.js";
import { nativeFacts, setVersionFacts, type VersionFacts } from "../facts.js";
import { again, type MethodHandler, type MethodInvocation } from "../method-handler.js";
import { behave, type Events, resumes } from "../v0.3/behaviour.js";
import { OlderEvents } from "./events.js";
import { shownTask, withoutHistory } from "./view.js";

const { method: methods } = A2AService;

/** The facts of calls by clients that choose the ids of their tasks. */
export const facts: VersionFacts = Object.freeze({ ...nativeFacts, namesTasks: true });

/** The id of a task's only configuration in 0.1, where configurations have no ids. */
const CONFIG_ID = "a2a-0.1";

/** Number of a task's configurations that are read, the maximum of one page. */
const MOST_CONFIGS = 100;

type MethodAnswer = Awaited<ReturnType<MethodHandler>>;

/** Differences of 0.1 from 1.0 in behaviour; `json-form.ts` has already converted the messages. */
export function behaveAsV01(service: MethodHandler): MethodHandler {
  return (asked) => {
    setVersionFacts(asked.call, facts);
    return (answers[asked.method.name] ?? passed)(asked, service);
  };
}

type Way = (asked: MethodInvocation, service: MethodHandler) => Promise<MethodAnswer>;

const passed: Way = (asked, service) => service(asked);

const answers: Readonly<Record<string, Way>> = {
  SendMessage: sendNamed,
  SendStreamingMessage: sendSubscribe,
  GetTask: async (asked, service) => shownTask(expectMessage(TaskSchema, await service(asked))),
  CancelTask: async (asked, service) => withoutHistory(shownTask(expectMessage(TaskSchema, await service(asked)))),
  SubscribeToTask: resubscribe,
  CreateTaskPushNotificationConfig: setConfig,
  GetTaskPushNotificationConfig: getConfig,
};

async function sendNamed(asked: MethodInvocation, service: MethodHandler): Promise<Message> {
  const { call } = asked;
  const request = namedSend(asked);
  const { message, configuration } = request;
  try {
    const answer = expectMessage(SendMessageResponseSchema, await service({ ...asked, request }));
    // The client has named its task, so the agent never answers directly.
    return taskResponse(expectMessage(TaskSchema, answer.payload.value));
  } catch (error) {
    // 0.1 may answer with a task that is still working, and has no other way to report it.
    const isLate = error instanceof A2AError && error.reason === "DEADLINE_EXCEEDED" && !call.cancellation.canceled;
    if (!isLate) throw error;
    const { historyLength = 0 } = configuration ?? {};
    return taskResponse(await taskOf(service, call, message?.taskId ?? "", historyLength));
  }
}

function taskResponse(task: Task): SendMessageResponse {
  const response = create(SendMessageResponseSchema);
  response.payload = { case: "task", value: shownTask(task) };
  return carry(task, response);
}

async function sendSubscribe(asked: MethodInvocation, service: MethodHandler): Promise<MethodAnswer> {
  const request = namedSend(asked);
  const events = await behave(service)({ ...asked, request });
  return new OlderEvents(events as Events, {
    taskId: request.message?.taskId ?? "",
    hasIds: showsIds(asked.call),
  });
}

async function resubscribe(asked: MethodInvocation, service: MethodHandler): Promise<MethodAnswer> {
  const { id: taskId } = expectMessage(SubscribeToTaskRequestSchema, asked.request);
  const resumed = await resumedIn(asked.call, taskId, service);
  const events = await behave(service)(asked);
  return new OlderEvents(events as Events, { taskId, resumed, hasIds: showsIds(asked.call) });
}

/**
 * Returns true if the events of a stream have an `id:` to resume after. They have one only if the call requests it: the
 * first JavaScript client of 0.1 expects an event to be one line, `data: …`, and skips or fails on an event with
 * another line. Call it after the interceptors of the call have run.
 */
export function showsIds(call: Call): boolean {
  return resumes(call) || call.extensions.has(RESUME_EXTENSION);
}

/**
 * Returns the order of a task's artifacts if the call resumes after an event. It is read before the stream starts, so
 * that later artifacts are in the stream, in its order.
 */
export async function resumedIn(
  call: Call,
  taskId: string,
  service: MethodHandler,
): Promise<readonly string[] | undefined> {
  if (!resumes(call)) return undefined;
  const { artifacts } = await taskOf(service, call, taskId, 0);
  call.written?.();
  call.written = undefined;
  return artifacts.map(({ artifactId }) => artifactId);
}

/** Reads the current task within a call that may have a stream open. */
async function taskOf(service: MethodHandler, call: Call, id: string, historyLength: number): Promise<Task> {
  const request = create(GetTaskRequestSchema, { id, historyLength });
  return expectMessage(TaskSchema, await again(service, { method: methods.getTask, request, call }));
}

/** Returns a send that names its task. It changes the request, which the codec created for this call. */
function namedSend({ request: asked, call }: MethodInvocation): SendMessageRequest {
  const request = expectMessage(SendMessageRequestSchema, asked);
  const { message } = request;
  request.configuration ??= create(SendMessageConfigurationSchema);
  const { taskPushNotificationConfig: config } = request.configuration;
  if (config !== undefined) config.id = CONFIG_ID;
  if (message === undefined) return request;
  checkName(message.taskId);
  // Messages have no ids in 0.1. A repeated send needs the same id, because another one would be a different request
  // under the same key.
  const key = call.header(IDEMPOTENCY_KEY)?.trim() ?? "";
  if (key !== "") message.messageId = hash("sha256", JSON.stringify(["0.1 message", message.taskId, key]), "hex");
  return request;
}

/** Rejects names that are empty, or that have control characters. The length limit is that of all ids. */
function checkName(id: string): void {
  if (/^[^\p{Cc}\p{Cs}\u2028\u2029]+$/u.test(id) && id.trim() !== "") return;
  throw invalid([{ field: "id", description: "must be a text without control characters, and not empty" }]);
}

/** Sets the only configuration of a task: setting replaces it, and null removes it. */
async function setConfig(asked: MethodInvocation, service: MethodHandler): Promise<MethodAnswer> {
  const { call } = asked;
  const config = expectMessage(TaskPushNotificationConfigSchema, asked.request);
  const { taskId, token } = config;
  config.id = CONFIG_ID;
  // The client expects its input in the response.
  if (config.url !== "")
    return Object.assign(expectMessage(TaskPushNotificationConfigSchema, await service(asked)), { token });
  const request = create(DeleteTaskPushNotificationConfigRequestSchema, { taskId, id: CONFIG_ID });
  await service({ method: methods.deleteTaskPushNotificationConfig, request, call });
  return create(TaskPushNotificationConfigSchema, { taskId });
}

/** Returns the configuration of 0.1, else the first of another version, else an empty one. */
async function getConfig({ request, call }: MethodInvocation, service: MethodHandler): Promise<MethodAnswer> {
  const { taskId } = expectMessage(GetTaskPushNotificationConfigRequestSchema, request);
  const all = create(ListTaskPushNotificationConfigsRequestSchema, { taskId, pageSize: MOST_CONFIGS });
  const method = methods.listTaskPushNotificationConfigs;
  const { configs } = expectMessage(
    ListTaskPushNotificationConfigsResponseSchema,
    await service({ method, request: all, call }),
  );
  const own = configs.find(({ id }) => id === CONFIG_ID) ?? configs[0];
  return own ?? create(TaskPushNotificationConfigSchema, { taskId });
}
