import { randomUUID } from "node:crypto";
import type { Pattern, Request } from "../cases/case.js";
import { get, post, remove, call as rpcCall } from "../cases/shapes.js";

/** A client's message to an agent. */
export interface Said {
  readonly text: string;
  readonly taskId?: string | undefined;
  readonly contextId?: string | undefined;
  readonly messageId?: string;
}

export interface PushConfig {
  readonly id: string;
  readonly url: string;
  readonly token?: string;
  readonly authentication?: Pattern;
}

/** A version over one binding: builds a request for each operation. */
export interface Speaker {
  readonly name: string;
  readonly version: "0.1" | "0.2" | "0.3" | "1.0" | "1.1";
  readonly binding: "CONNECT" | "GRPC" | "HTTP+JSON" | "JSONRPC";
  send(said: Said): Request;
  /** Sends without waiting for the end; undefined where the version has no word for it. */
  readonly leave?: (said: Said) => Request;
  stream(said: Said): Request;
  get(id: string): Request;
  cancel(id: string): Request;
  subscribe(id: string): Request;
  setPush(taskId: string, config: PushConfig): Request;
  getPush(taskId: string, id: string): Request;
  readonly listPush?: (taskId: string) => Request;
  readonly deletePush?: (taskId: string, id: string) => Request;
  readonly extendedCard?: () => Request;
}

type Json = Record<string, Pattern>;

/** A request of JSON-RPC. */
const call = (method: string, params?: Pattern): Request => ({ ...rpcCall(method, params), path: "/" });

/** An object without its undefined members. */
const given = (members: Record<string, Pattern | undefined>): Json =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Json;

const grpc = (service: string, method: string, body: Pattern): Request => ({
  method: "GRPC",
  path: `/${service}/${method}`,
  headers: {},
  body,
});

/** The same request with further headers. */
export function withHeaders(request: Request, headers: Readonly<Record<string, string>>): Request {
  const lower = request.method === "GRPC" ? Object.entries(headers).map(([name, v]) => [name.toLowerCase(), v]) : [];
  const added = request.method === "GRPC" ? Object.fromEntries(lower) : headers;
  return { ...request, headers: { ...request.headers, ...added } };
}

const named = (request: Request): Request => withHeaders(request, { "A2A-Version": "1.0" });

const messageOf1 = ({ text, taskId, contextId, messageId = randomUUID() }: Said): Json =>
  given({ messageId, role: "ROLE_USER", parts: [{ text }], taskId, contextId });

const configOf1 = (taskId: string, config: PushConfig): Json => ({ taskId, ...config });

const rpc1 = (method: string, params: Json): Request => named(call(method, params));

const jsonRpc1: Speaker = {
  name: "1.0 over JSON-RPC",
  version: "1.0",
  binding: "JSONRPC",
  send: (said) => rpc1("SendMessage", { message: messageOf1(said) }),
  leave: (said) => rpc1("SendMessage", { message: messageOf1(said), configuration: { returnImmediately: true } }),
  stream: (said) => rpc1("SendStreamingMessage", { message: messageOf1(said) }),
  get: (id) => rpc1("GetTask", { id }),
  cancel: (id) => rpc1("CancelTask", { id }),
  subscribe: (id) => rpc1("SubscribeToTask", { id }),
  setPush: (taskId, config) => rpc1("CreateTaskPushNotificationConfig", configOf1(taskId, config)),
  getPush: (taskId, id) => rpc1("GetTaskPushNotificationConfig", { taskId, id }),
  listPush: (taskId) => rpc1("ListTaskPushNotificationConfigs", { taskId }),
  deletePush: (taskId, id) => rpc1("DeleteTaskPushNotificationConfig", { taskId, id }),
  extendedCard: () => rpc1("GetExtendedAgentCard", {}),
};

const path = encodeURIComponent;

const rest1: Speaker = {
  name: "1.0 over HTTP+JSON",
  version: "1.0",
  binding: "HTTP+JSON",
  send: (said) => named(post("/message:send", { message: messageOf1(said) })),
  leave: (said) =>
    named(post("/message:send", { message: messageOf1(said), configuration: { returnImmediately: true } })),
  stream: (said) => named(post("/message:stream", { message: messageOf1(said) })),
  get: (id) => named(get(`/tasks/${path(id)}`)),
  cancel: (id) => named(post(`/tasks/${path(id)}:cancel`, {})),
  subscribe: (id) => named(get(`/tasks/${path(id)}:subscribe`)),
  setPush: (id, config) => named(post(`/tasks/${path(id)}/pushNotificationConfigs`, configOf1(id, config))),
  getPush: (taskId, id) => named(get(`/tasks/${path(taskId)}/pushNotificationConfigs/${path(id)}`)),
  listPush: (taskId) => named(get(`/tasks/${path(taskId)}/pushNotificationConfigs`)),
  deletePush: (taskId, id) => named(remove(`/tasks/${path(taskId)}/pushNotificationConfigs/${path(id)}`)),
  extendedCard: () => named(get("/extendedAgentCard")),
};

const service1 = "lf.a2a.v1.A2AService";

const grpc1: Speaker = {
  name: "1.0 over gRPC",
  version: "1.0",
  binding: "GRPC",
  send: (said) => grpc(service1, "SendMessage", { message: messageOf1(said) }),
  leave: (said) =>
    grpc(service1, "SendMessage", { message: messageOf1(said), configuration: { returnImmediately: true } }),
  stream: (said) => grpc(service1, "SendStreamingMessage", { message: messageOf1(said) }),
  get: (id) => grpc(service1, "GetTask", { id }),
  cancel: (id) => grpc(service1, "CancelTask", { id }),
  subscribe: (id) => grpc(service1, "SubscribeToTask", { id }),
  setPush: (taskId, config) => grpc(service1, "CreateTaskPushNotificationConfig", configOf1(taskId, config)),
  getPush: (taskId, id) => grpc(service1, "GetTaskPushNotificationConfig", { taskId, id }),
  listPush: (taskId) => grpc(service1, "ListTaskPushNotificationConfigs", { taskId }),
  deletePush: (taskId, id) => grpc(service1, "DeleteTaskPushNotificationConfig", { taskId, id }),
  extendedCard: () => grpc(service1, "GetExtendedAgentCard", {}),
};

const messageOf3 = ({ text, taskId, contextId, messageId = randomUUID() }: Said): Json =>
  given({ kind: "message", messageId, role: "user", parts: [{ kind: "text", text }], taskId, contextId });

/** 0.3 and 0.2 are the same over JSON-RPC, but for the extended card. */
const jsonRpc3: Speaker = {
  name: "0.3 over JSON-RPC",
  version: "0.3",
  binding: "JSONRPC",
  send: (said) => call("message/send", { message: messageOf3(said) }),
  leave: (said) => call("message/send", { message: messageOf3(said), configuration: { blocking: false } }),
  stream: (said) => call("message/stream", { message: messageOf3(said) }),
  get: (id) => call("tasks/get", { id }),
  cancel: (id) => call("tasks/cancel", { id }),
  subscribe: (id) => call("tasks/resubscribe", { id }),
  setPush: (taskId, config) =>
    call("tasks/pushNotificationConfig/set", { taskId, pushNotificationConfig: { ...config } }),
  getPush: (id, pushNotificationConfigId) => call("tasks/pushNotificationConfig/get", { id, pushNotificationConfigId }),
  listPush: (id) => call("tasks/pushNotificationConfig/list", { id }),
  deletePush: (id, pushNotificationConfigId) =>
    call("tasks/pushNotificationConfig/delete", { id, pushNotificationConfigId }),
  extendedCard: () => call("agent/getAuthenticatedExtendedCard"),
};

const protoMessageOf3 = ({ text, taskId, contextId, messageId = randomUUID() }: Said): Json =>
  given({ messageId, role: "ROLE_USER", content: [{ text }], taskId, contextId });

const protoConfig = (taskId: string, { id, ...config }: PushConfig): Json => ({
  parent: `tasks/${taskId}`,
  configId: id,
  config: {
    name: `tasks/${taskId}/pushNotificationConfigs/${id}`,
    pushNotificationConfig: { id, ...config },
  },
});

const rest3: Speaker = {
  name: "0.3 over HTTP+JSON",
  version: "0.3",
  binding: "HTTP+JSON",
  send: (said) => post("/v1/message:send", { message: protoMessageOf3(said) }),
  leave: (said) => post("/v1/message:send", { message: protoMessageOf3(said), configuration: { blocking: false } }),
  stream: (said) => post("/v1/message:stream", { message: protoMessageOf3(said) }),
  get: (id) => get(`/v1/tasks/${path(id)}`),
  cancel: (id) => post(`/v1/tasks/${path(id)}:cancel`, {}),
  subscribe: (id) => get(`/v1/tasks/${path(id)}:subscribe`),
  setPush: (id, config) => post(`/v1/tasks/${path(id)}/pushNotificationConfigs`, protoConfig(id, config)),
  getPush: (taskId, id) => get(`/v1/tasks/${path(taskId)}/pushNotificationConfigs/${path(id)}`),
  listPush: (taskId) => get(`/v1/tasks/${path(taskId)}/pushNotificationConfigs`),
  deletePush: (taskId, id) => remove(`/v1/tasks/${path(taskId)}/pushNotificationConfigs/${path(id)}`),
  extendedCard: () => get("/v1/card"),
};

const service3 = "a2a.v1.A2AService";

const grpc3: Speaker = {
  name: "0.3 over gRPC",
  version: "0.3",
  binding: "GRPC",
  send: (said) => grpc(service3, "SendMessage", { message: protoMessageOf3(said) }),
  leave: (said) =>
    grpc(service3, "SendMessage", { message: protoMessageOf3(said), configuration: { blocking: false } }),
  stream: (said) => grpc(service3, "SendStreamingMessage", { message: protoMessageOf3(said) }),
  get: (id) => grpc(service3, "GetTask", { name: `tasks/${id}` }),
  cancel: (id) => grpc(service3, "CancelTask", { name: `tasks/${id}` }),
  subscribe: (id) => grpc(service3, "TaskSubscription", { name: `tasks/${id}` }),
  setPush: (id, config) => grpc(service3, "CreateTaskPushNotificationConfig", protoConfig(id, config)),
  getPush: (taskId, id) =>
    grpc(service3, "GetTaskPushNotificationConfig", { name: `tasks/${taskId}/pushNotificationConfigs/${id}` }),
  listPush: (taskId) => grpc(service3, "ListTaskPushNotificationConfig", { parent: `tasks/${taskId}` }),
  deletePush: (taskId, id) =>
    grpc(service3, "DeleteTaskPushNotificationConfig", { name: `tasks/${taskId}/pushNotificationConfigs/${id}` }),
  extendedCard: () => grpc(service3, "GetAgentCard", {}),
};

/** As published: a message without `kind`. */
const paramsOf2 = ({ text, taskId, contextId, messageId = randomUUID() }: Said): Json => ({
  message: given({ messageId, role: "user", parts: [{ kind: "text", text }], taskId, contextId }),
  metadata: {},
});

const jsonRpc2: Speaker = {
  ...jsonRpc3,
  name: "0.2 over JSON-RPC",
  version: "0.2",
  send: (said) => call("message/send", paramsOf2(said)),
  stream: (said) => call("message/stream", paramsOf2(said)),
  extendedCard: () => get("/agent/authenticatedExtendedCard"),
};

/** The client makes the ids of tasks. */
const paramsOf1 = ({ text, taskId = randomUUID(), contextId }: Said): Json =>
  given({ id: taskId, sessionId: contextId, message: { role: "user", parts: [{ type: "text", text }] } });

const jsonRpc01: Speaker = {
  name: "0.1 over JSON-RPC",
  version: "0.1",
  binding: "JSONRPC",
  send: (said) => call("tasks/send", paramsOf1(said)),
  stream: (said) => call("tasks/sendSubscribe", paramsOf1(said)),
  get: (id) => call("tasks/get", { id }),
  cancel: (id) => call("tasks/cancel", { id }),
  subscribe: (id) => call("tasks/resubscribe", { id }),
  setPush: (taskId, { id: _id, ...config }) =>
    call("tasks/pushNotification/set", { id: taskId, pushNotificationConfig: { ...config } }),
  getPush: (taskId) => call("tasks/pushNotification/get", { id: taskId }),
};

/** The schema's dialect of HTTP+JSON. */
const schema3: Speaker = {
  ...rest3,
  name: "0.3 over HTTP+JSON, in the schema's dialect",
  send: (said) => post("/v1/message:send", { message: messageOf3(said) }),
  leave: (said) => post("/v1/message:send", { message: messageOf3(said), configuration: { blocking: false } }),
  stream: (said) => post("/v1/message:stream", { message: messageOf3(said) }),
  setPush: (id, config) => post(`/v1/tasks/${path(id)}/pushNotificationConfigs`, { config: { ...config } }),
};

const streams = ["SendStreamingMessage", "SubscribeToTask", "TaskSubscription"];

/** The same call over Connect, in JSON. */
function inConnect({ path: to, body, headers }: Request): Request {
  const isStream = streams.some((name) => to.endsWith(`/${name}`));
  const type = isStream ? "application/connect+json" : "application/json";
  const all = { ...headers, "Content-Type": type, "Connect-Protocol-Version": "1" };
  return { method: "POST", path: to, headers: all, body: body as Pattern };
}

/** The preview's name, without which a call is one of 1.0. */
const inPreview = (request: Request): Request => withHeaders(request, { "A2A-Version": "1.1" });

/** A speaker each of whose requests is changed. */
function changed(speaker: Speaker, own: Partial<Speaker>, change: (request: Request) => Request): Speaker {
  const members = Object.entries(speaker).map(([name, member]) => [
    name,
    typeof member === "function"
      ? (...given: unknown[]) => change((member as (...given: unknown[]) => Request)(...given))
      : member,
  ]);
  return { ...(Object.fromEntries(members) as unknown as Speaker), ...own };
}

/** Further ways to speak a version; the server has to have the preview of 1.1 on. */
export const furtherSpeakers: readonly Speaker[] = [
  changed(grpc1, { name: "1.0 over Connect", binding: "CONNECT" }, inConnect),
  changed(grpc3, { name: "0.3 over Connect", binding: "CONNECT" }, inConnect),
  schema3,
  changed(jsonRpc1, { name: "1.1 over JSON-RPC", version: "1.1" }, inPreview),
  changed(rest1, { name: "1.1 over HTTP+JSON", version: "1.1" }, inPreview),
  changed(grpc1, { name: "1.1 over gRPC", version: "1.1" }, inPreview),
];

/** True for versions that show the service's own answers: streams have no `final` and end with the task alone. */
export const isAsNative = ({ version }: Speaker): boolean => version === "1.0" || version === "1.1";

/** Every version over every binding that it has. */
export const speakers: readonly Speaker[] = [jsonRpc1, rest1, grpc1, jsonRpc3, rest3, grpc3, jsonRpc2, jsonRpc01];

/**
 * Adds the tenant to a request. 1.0 has it in the message, or in the path of HTTP+JSON; earlier versions have it in the
 * URL.
 */
function forTenant(request: Request, { version, binding }: Speaker, tenant: string): Request {
  const { body, path: to } = request;
  if (version !== "1.0" || binding === "HTTP+JSON") return { ...request, path: `/${tenant}${to === "/" ? "" : to}` };
  if (binding === "GRPC") return { ...request, body: { ...(body as Json), tenant } };
  const { params, ...rest } = body as Json;
  return { ...request, body: { ...rest, params: { ...(params as Json), tenant } } };
}

/** The same for the agent of a tenant. */
export function inTenant(speaker: Speaker, tenant: string): Speaker {
  const own = { name: `${speaker.name}, in ${tenant}` };
  return changed(speaker, own, (request) => forTenant(request, speaker, tenant));
}

/** Every way to the agent of a tenant: gRPC of earlier versions has no place for one. */
export const speakersIn = (tenant: string): readonly Speaker[] =>
  speakers
    .filter(({ version, binding }) => version === "1.0" || binding !== "GRPC")
    .map((speaker) => inTenant(speaker, tenant));
