import type { DescMethod, Message } from "@bufbuild/protobuf";
import {
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  TaskPushNotificationConfigSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { Reason } from "../../core/error.js";
import { expectMessage } from "../../wire/expect-message.js";
import { answerReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { olderCard } from "../card-from-older.js";
import { ALL_HISTORY, cardReader, givesCard, JsonExchange, withAllHistory, withHistoryOf } from "../json-exchange.js";
import type { OlderCalls, OlderMethod } from "../older-calls.js";
import { texts } from "./errors.js";
import { schemaForm } from "./json-form.js";
import { methods } from "./names.js";
import { taskName } from "./resource-names.js";
import { restForm } from "./rest-form.js";

/** Returns the JSON-RPC method for a method of the service (specification of 0.3, section 7). */
export function rpcMethod(desc: DescMethod): OlderMethod | undefined {
  const name = Object.keys(methods).find((each) => methods[each] === desc.name);
  if (name === undefined) return undefined;
  const write = jsonWriter(desc.input, schemaForm);
  const isCard = givesCard(desc);
  const read = isCard ? cardReader(olderCard) : answerReader(desc.output, schemaForm);
  return {
    name,
    verb: "POST",
    begin: (request) => {
      const json = isCard ? undefined : write(withAllHistory(request));
      return new JsonExchange({ json }, (answer) => withHistoryOf(request, read(answer)));
    },
  };
}

/** The path of a method. */
interface MethodPath {
  readonly verbs: readonly string[];
  readonly place: (request: never) => string;
  readonly hasBody?: boolean;
  /**
   * True if the body is only the push config, without the contract's message around it, as @a2a-js/sdk's server
   * expects.
   */
  readonly isInner?: boolean;
}

const PUSH = "createTaskPushNotificationConfig";

const segment = (text: string): string => encodeURIComponent(text);
const taskPlace = ({ id }: { readonly id: string }): string => `/v1/tasks/${segment(id)}`;
const pushPlace = ({ taskId }: { readonly taskId: string }): string =>
  `/v1/tasks/${segment(taskId)}/pushNotificationConfigs`;
const onePushPlace = (request: GetTaskPushNotificationConfigRequest): string =>
  `${pushPlace(request)}/${segment(request.id)}`;

/** The routes of HTTP+JSON (specification of 0.3, section 3.5.3). */
const routes: Readonly<Record<string, MethodPath>> = {
  sendMessage: { verbs: ["POST"], place: () => "/v1/message:send", hasBody: true },
  sendStreamingMessage: { verbs: ["POST"], place: () => "/v1/message:stream", hasBody: true },
  getTask: {
    verbs: ["GET"],
    place: (request: GetTaskRequest) => `${taskPlace(request)}?historyLength=${request.historyLength ?? ALL_HISTORY}`,
  },
  cancelTask: { verbs: ["POST"], place: (request: { id: string }) => `${taskPlace(request)}:cancel` },
  // The contract says GET, the prose says POST.
  subscribeToTask: { verbs: ["GET", "POST"], place: (request: { id: string }) => `${taskPlace(request)}:subscribe` },
  createTaskPushNotificationConfig: { verbs: ["POST"], place: pushPlace, hasBody: true },
  getTaskPushNotificationConfig: { verbs: ["GET"], place: onePushPlace },
  listTaskPushNotificationConfigs: { verbs: ["GET"], place: pushPlace },
  deleteTaskPushNotificationConfig: { verbs: ["DELETE"], place: onePushPlace },
  getExtendedAgentCard: { verbs: ["GET"], place: () => "/v1/card" },
};

/** Returns the route for a method of the service. */
function restMethod(desc: DescMethod): OlderMethod | undefined {
  const route = routes[desc.localName];
  return route === undefined ? undefined : methodBy(desc, route);
}

/**
 * Creates a method. Servers of 0.3 decode bodies strictly as ProtoJSON of its contract; answers are read in either
 * dialect.
 */
function methodBy(desc: DescMethod, route: MethodPath): OlderMethod {
  const { verbs, place, hasBody = false, isInner = false } = route;
  const [verb = "GET", ...others] = verbs;
  const write = isInner ? jsonWriter(desc.input, restForm) : bodyWriter(desc);
  const read = givesCard(desc) ? cardReader(olderCard) : answerReader(desc.output, restForm);
  return {
    name: "",
    verb,
    begin: (request) => {
      const json = hasBody ? write(request) : verb === "POST" ? "{}" : undefined;
      const at = { json, place: place(request as never) };
      return new JsonExchange(at, (answer) => withHistoryOf(request, read(answer)));
    },
    ...(others.length === 0 ? {} : { otherwise: methodBy(desc, { ...route, verbs: others }) }),
    ...(desc.localName === PUSH && !isInner ? { otherwise: methodBy(desc, { ...route, isInner: true }) } : {}),
  };
}

/**
 * Returns the writer of a request's body. To create a push config, the body is the contract's message that contains the
 * config.
 */
function bodyWriter(desc: DescMethod): (request: Message) => string {
  const write = jsonWriter(desc.input, restForm);
  if (desc.localName !== PUSH) return write;
  return (request) => {
    const { taskId, id } = expectMessage(TaskPushNotificationConfigSchema, request);
    return `{"parent":${JSON.stringify(taskName(taskId))},"configId":${JSON.stringify(id)},"config":${write(request)}}`;
  };
}

/** Meaning of an HTTP status if the body of an error has no code. */
const statuses: ReadonlyMap<number, Reason> = new Map([
  [400, "INVALID_PARAMS"],
  [404, "TASK_NOT_FOUND"],
  [409, "TASK_NOT_CANCELABLE"],
  [415, "CONTENT_TYPE_NOT_SUPPORTED"],
  [422, "INVALID_PARAMS"],
  [500, "INTERNAL"],
  [501, "UNSUPPORTED_OPERATION"],
  [502, "INVALID_AGENT_RESPONSE"],
]);

/** The calls of A2A 0.3 over JSON-RPC and HTTP+JSON. */
export const calls: OlderCalls = { jsonRpc: rpcMethod, rest: restMethod, statuses, texts };
