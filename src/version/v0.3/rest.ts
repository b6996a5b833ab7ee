import { create, type Message } from "@bufbuild/protobuf";
import {
  A2AService,
  type AgentCard,
  AgentCardSchema,
  GetExtendedAgentCardRequestSchema,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { expectMessage } from "../../wire/expect-message.js";
import { collectingReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { jsonPieces } from "../../wire/large/large.js";
import { decodeSegment, parsePathTemplate } from "../../wire/path-template.js";
import { queryReader } from "../../wire/query.js";
import { Violations } from "../../wire/violations.js";
import type { Endpoint, RestDialect } from "../rest.js";
import { isInSchema, markSchema } from "./asked-dialect.js";
import { errorBody, statuses } from "./errors.js";
import { writeCard } from "./jsonrpc.js";
import { isSchemaDialect, restForm, restSchemaForm } from "./rest-form.js";

type ServiceMethod = (typeof A2AService)["methods"][number];

/** An endpoint of a method: verb and path, with the fields (localName) of its variables. */
interface RestRow {
  readonly method: ServiceMethod;
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

function endpointOf({ method, verb, path, fields = [], status }: RestRow): Endpoint {
  const { input, output } = method;
  const readBody = collectingReader(input, restForm);
  const readQuery = queryReader(input);
  const write = jsonWriter(output, restForm);
  const writeSchema = jsonWriter(output, restSchemaForm);
  const hasBody = verb === "POST";
  return {
    method,
    verb,
    template: parsePathTemplate(path),
    fields: [],
    hasBody,
    isStream: method.methodKind === "server_streaming",
    ...(status !== undefined && { status }),
    // Cached text belongs to one message, and an answer in the schema's dialect is a separate message.
    form: restForm,
    write: (answer) => (isInSchema(answer) ? writeSchema(answer) : write(answer)),
    pieces: (answer) => jsonPieces(output, answer, isInSchema(answer) ? restSchemaForm : restForm),
    read: ({ values, query, body }) => {
      const at = new Violations();
      const message = (hasBody ? readBody(body ?? {}, at) : undefined) ?? create(input);
      if (!hasBody) readQuery(query, message, at);
      for (const [i, field] of fields.entries()) putPathValue(message, { field, raw: values[i] ?? "" }, at);
      // Requests of this version have no tenant.
      if ("tenant" in message) message.tenant = "";
      at.throwIfAny();
      return isSchemaDialect(body) ? markSchema(message) : message;
    },
  };
}

/** The path takes precedence; a body that contradicts it is rejected instead of ignored. */
function putPathValue(
  message: Message,
  { field, raw }: { readonly field: string; readonly raw: string },
  at: Violations,
): void {
  const fields = message as unknown as Record<string, string>;
  const value = decodeSegment(raw);
  const isOther = fields[field] !== "" && fields[field] !== value;
  if (value === undefined) at.add("must be percent-encoded UTF-8 in the path", field);
  else if (isOther) at.add("differs from its value in the path", field);
  else fields[field] = value;
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
  endpoints: [...rows.map(endpointOf), cardEndpoint("/v1/card", writeCard)],
  mediaType: "application/json",
  error: errorBody,
  statuses,
  malformed: "PARSE_ERROR",
};
