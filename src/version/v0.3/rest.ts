import { create, type DescMethod } from "@bufbuild/protobuf";
import {
  A2AService,
  type AgentCard,
  AgentCardSchema,
  GetExtendedAgentCardRequestSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { defined } from "../../core/members.js";
import { expectMessage } from "../../wire/expect-message.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { jsonPieces } from "../../wire/large/large.js";
import { parsePathTemplate } from "../../wire/path-template.js";
import { type Endpoint, endpointOf, type RestDialect } from "../rest.js";
import { isInSchema, markSchema } from "./asked-dialect.js";
import { errorBody, statuses } from "./errors.js";
import { writeCard } from "./jsonrpc.js";
import { isSchemaDialect, restForm, restSchemaForm } from "./rest-form.js";

/** An endpoint of a method: verb and path, with the fields (localName) of its variables. */
interface RestRow {
  readonly method: DescMethod;
  readonly verb: "GET" | "POST" | "DELETE";
  readonly path: string;
  readonly fields?: readonly string[];
  readonly status?: number;
}

const { method } = A2AService;
const configs = "/v1/tasks/{id}/pushNotificationConfigs";

/**
 * The texts of 0.3 disagree on the verb of `:subscribe`, and its first contract has `task` in one path. All variants
 * are served.
 */
const rows: readonly RestRow[] = [
  { method: method.sendMessage, verb: "POST", path: "/v1/message:send" },
  { method: method.sendStreamingMessage, verb: "POST", path: "/v1/message:stream" },
  { method: method.getTask, verb: "GET", path: "/v1/tasks/{id}", fields: ["id"] },
  { method: method.cancelTask, verb: "POST", path: "/v1/tasks/{id}:cancel", fields: ["id"] },
  { method: method.subscribeToTask, verb: "GET", path: "/v1/tasks/{id}:subscribe", fields: ["id"] },
  { method: method.subscribeToTask, verb: "POST", path: "/v1/tasks/{id}:subscribe", fields: ["id"] },
  { method: method.createTaskPushNotificationConfig, verb: "POST", path: configs, fields: ["taskId"] },
  {
    method: method.createTaskPushNotificationConfig,
    verb: "POST",
    path: configs.replace("tasks", "task"),
    fields: ["taskId"],
  },
  { method: method.listTaskPushNotificationConfigs, verb: "GET", path: configs, fields: ["taskId"] },
  { method: method.getTaskPushNotificationConfig, verb: "GET", path: `${configs}/{config}`, fields: ["taskId", "id"] },
  {
    method: method.deleteTaskPushNotificationConfig,
    verb: "DELETE",
    path: `${configs}/{config}`,
    fields: ["taskId", "id"],
    status: 204,
  },
];

function endpointOfRow({ method, verb, path, fields = [], status }: RestRow): Endpoint {
  const { input, output } = method;
  const route = {
    method,
    verb,
    template: parsePathTemplate(path),
    fields: fields.map((name) => defined(input.field[name])),
    hasBody: verb === "POST",
  };
  const base = endpointOf(route, restForm);
  const writeSchema = jsonWriter(output, restSchemaForm);
  return {
    ...base,
    ...(status !== undefined && { status }),
    // Cached text belongs to one message, and an answer in the schema's dialect is a separate message.
    write: (answer) => (isInSchema(answer) ? writeSchema(answer) : base.write(answer)),
    pieces: (answer) => (isInSchema(answer) ? jsonPieces(output, answer, restSchemaForm) : base.pieces(answer)),
    read: (source) => {
      const message = base.read(source);
      // Requests of this version have no tenant.
      if ("tenant" in message) message.tenant = "";
      return isSchemaDialect(source.body) ? markSchema(message) : message;
    },
  };
}

/** Returns the endpoint of the card for authenticated callers. */
export function cardEndpoint(path: string, write: (card: AgentCard) => string): Endpoint {
  return {
    method: method.getExtendedAgentCard,
    verb: "GET",
    template: parsePathTemplate(path),
    fields: [],
    hasBody: false,
    isStream: false,
    read: () => create(GetExtendedAgentCardRequestSchema),
    write: (card) => write(expectMessage(AgentCardSchema, card)),
    pieces: (card) => [write(expectMessage(AgentCardSchema, card))],
  };
}

/**
 * The dialect of 0.3 over HTTP+JSON. Only a table of its documents mentions lists of tasks, without a format, so they
 * are not served.
 */
export const rest: RestDialect = {
  endpoints: [...rows.map(endpointOfRow), cardEndpoint("/v1/card", writeCard)],
  mediaType: "application/json",
  error: errorBody,
  statuses,
  malformed: "PARSE_ERROR",
};
