import type { Message as AnyMessage, DescMessage, JsonValue, MessageShape } from "@bufbuild/protobuf";
import type { Timestamp, Value } from "@bufbuild/protobuf/wkt";
import {
  AuthenticationInfoSchema,
  CancelTaskRequestSchema,
  DeleteTaskPushNotificationConfigRequestSchema,
  GetTaskPushNotificationConfigRequestSchema,
  GetTaskRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  ListTasksRequestSchema,
  MessageSchema,
  PartSchema,
  Role,
  SendMessageConfigurationSchema,
  SendMessageRequestSchema,
  SubscribeToTaskRequestSchema,
  TaskPushNotificationConfigSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Limits } from "../core/limits.js";
import { defined } from "../core/members.js";
import { MAX_PUSH_URL_LENGTH } from "../push/options.js";
import { REQUEST_JSON_LEVELS } from "../wire/nesting.js";

/** Reports a violation, with the limit that it exceeds if it has a name. The field is a path relative to the message. */
type Report = (field: string, description: string, limit?: keyof Limits) => void;

/**
 * Reports the invalid values of one message; missing fields are checked elsewhere. A valid message costs no allocation.
 */
export type Rule = (message: AnyMessage, report: Report) => void;

/** Minimum, maximum and default size of a page of tasks (specification 3.1.4 and the contract's comments). */
export const pageSizes = { min: 1, max: 100, default: 50 } as const;

/**
 * Maximum and default size of a page of push notification configurations, which the server chooses (specification
 * 3.1.9).
 */
export const pushPageSizes = { max: 100, default: 50 } as const;

/**
 * Maximum length of the token, and of the credentials, of a push notification configuration, in characters: room for a
 * large JWT.
 */
const MAX_PUSH_SECRET_LENGTH = 4_096;

/** Maximum length of an id, tenant, file name, media type or idempotency key, and numbers that a request may name. */
export const requestBounds = { maxIdLength: 256, maxReferences: 100, maxExtensions: 32 } as const;

/** The value rules of all requests, by type name. */
export function rulesFor(limits: Limits): ReadonlyMap<string, Rule> {
  return new Map([...sendRules(limits), ...taskRules(), ...pushRules()]);
}

function sendRules({ maxParts }: Limits): [string, Rule][] {
  const { maxReferences, maxExtensions } = requestBounds;
  return [
    rule(MessageSchema, (message, report) => {
      id("messageId", message.messageId, report);
      id("contextId", message.contextId, report);
      id("taskId", message.taskId, report);
      role(message.role, report);
      many("parts", message.parts, maxParts, (field, description) => report(field, description, "maxParts"));
      ids("referenceTaskIds", message.referenceTaskIds, maxReferences, report);
      ids("extensions", message.extensions, maxExtensions, report);
      json("metadata", message.metadata, report);
    }),
    rule(PartSchema, ({ content, metadata, filename, mediaType }, report) => {
      if (content.case === undefined) report("", "needs one of text, raw, url, data");
      const fault = content.case === "data" ? valueFault(content.value) : undefined;
      if (fault !== undefined) report("data", fault);
      json("metadata", metadata, report);
      id("filename", filename, report);
      id("mediaType", mediaType, report);
    }),
    rule(SendMessageRequestSchema, (request, report) => {
      id("tenant", request.tenant, report);
      json("metadata", request.metadata, report);
    }),
    rule(SendMessageConfigurationSchema, (configuration, report) => {
      notNegative("historyLength", configuration.historyLength, report);
      ids("acceptedOutputModes", configuration.acceptedOutputModes, maxExtensions, report);
    }),
  ];
}

/** The range of `google.protobuf.Timestamp`, in seconds since the epoch. */
const FIRST_SECOND = BigInt(Date.parse("0001-01-01T00:00:00Z") / 1_000);
const LAST_SECOND = BigInt(Date.parse("9999-12-31T23:59:59Z") / 1_000);

function taskRules(): [string, Rule][] {
  return [
    rule(GetTaskRequestSchema, (request, report) => {
      id("tenant", request.tenant, report);
      id("id", request.id, report);
      notNegative("historyLength", request.historyLength, report);
    }),
    rule(CancelTaskRequestSchema, idsIn("tenant", "id")),
    rule(SubscribeToTaskRequestSchema, idsIn("tenant", "id")),
    rule(ListTasksRequestSchema, (request, report) => {
      id("tenant", request.tenant, report);
      id("contextId", request.contextId, report);
      notNegative("historyLength", request.historyLength, report);
      if (TaskState[request.status] === undefined) report("status", "is not a known task state");
      time("statusTimestampAfter", request.statusTimestampAfter, report);
      pageSize(request.pageSize, report);
    }),
  ];
}

function pushRules(): [string, Rule][] {
  return [
    rule(TaskPushNotificationConfigSchema, ({ tenant, id: configId, taskId, url, token }, report) => {
      id("tenant", tenant, report);
      id("taskId", taskId, report);
      if (configId !== "") pushConfigId(configId, report);
      if (url.length > MAX_PUSH_URL_LENGTH) report("url", `is longer than ${MAX_PUSH_URL_LENGTH} characters`);
      headerValue("token", token, MAX_PUSH_SECRET_LENGTH, report);
    }),
    rule(AuthenticationInfoSchema, ({ scheme, credentials }, report) => {
      if (scheme !== "" && !isScheme(scheme)) report("scheme", "is not the name of a scheme, such as Bearer");
      headerValue("credentials", credentials, MAX_PUSH_SECRET_LENGTH, report);
    }),
    rule(GetTaskPushNotificationConfigRequestSchema, idsIn("tenant", "taskId", "id")),
    rule(DeleteTaskPushNotificationConfigRequestSchema, idsIn("tenant", "taskId", "id")),
    rule(ListTaskPushNotificationConfigsRequestSchema, (request, report) => {
      id("tenant", request.tenant, report);
      id("taskId", request.taskId, report);
      notNegative("pageSize", request.pageSize, report);
    }),
  ];
}

function rule<D extends DescMessage>(
  desc: D,
  check: (message: MessageShape<D>, report: Report) => void,
): [string, Rule] {
  return [desc.typeName, check as Rule];
}

/** The rule of a request that consists of ids. */
function idsIn<F extends string>(...fields: readonly F[]): (request: Readonly<Record<F, string>>, to: Report) => void {
  return (request, report) => {
    for (const field of fields) id(field, request[field], report);
  };
}

/**
 * Checks a configuration's id, which becomes a segment of paths. Rejects `.` and `..`, which URLs treat specially, and
 * characters that are not allowed in logs and headers.
 */
function pushConfigId(value: string, report: Report): void {
  const { maxIdLength } = requestBounds;
  if (value.length > maxIdLength) report("id", `is longer than ${maxIdLength} characters`);
  else if (!/^[!-~]+$/.test(value)) report("id", "may only contain printable ASCII characters, without spaces");
  else if (/^\.\.?$/.test(value)) report("id", "must not be . or ..");
}

/**
 * Checks a value that is sent in a header. Rejects characters that could end the header or begin another one, and those
 * that only some servers accept (RFC 9110, 5.5).
 */
function headerValue(field: string, value: string, maxLength: number, report: Report): void {
  if (value.length > maxLength) report(field, `is longer than ${maxLength} characters`);
  else if (value !== "" && !/^[!-~](?:[ -~]*[!-~])?$/.test(value)) {
    report(field, "may only contain printable ASCII characters, without spaces around them");
  }
}

/** Maximum length of a scheme's name. Registered names have at most 15 characters. */
const MAX_SCHEME = 64;

/** Returns true if a text is the name of an authentication scheme (RFC 9110, 11.1). */
function isScheme(value: string): boolean {
  return value.length <= MAX_SCHEME && /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value);
}

function id(field: string, value: string, report: Report): void {
  const { maxIdLength } = requestBounds;
  if (value.length > maxIdLength) report(field, `is longer than ${maxIdLength} characters`);
  // PostgreSQL and some SQLite drivers cannot store this character.
  if (value.includes("\0")) report(field, "has a NUL character");
}

function ids(field: string, values: readonly string[], max: number, report: Report): void {
  many(field, values, max, report);
  for (let i = 0; i < values.length; i++) id(`${field}[${i}]`, values[i] as string, report);
}

function many(field: string, values: readonly unknown[], max: number, report: Report): void {
  if (values.length > max) report(field, `has more than ${max} elements`);
}

function json(field: string, value: JsonValue | undefined, report: Report): void {
  const fault = value === undefined ? undefined : jsonFault(value);
  if (fault !== undefined) report(field, fault);
}

function notNegative(field: string, value: number | undefined, report: Report): void {
  if (value !== undefined && value < 0) report(field, "must not be negative");
}

/**
 * Clients send messages as users (the contract's comments on Role). A missing role is reported by the check of required
 * fields.
 */
function role(value: Role, report: Report): void {
  if (value !== Role.USER && value !== Role.UNSPECIFIED) report("role", "must be ROLE_USER in a message to an agent");
}

/** Binary requests can carry times that the type excludes, and that a database may not be able to compare. */
function time(field: string, value: Timestamp | undefined, report: Report): void {
  if (value === undefined) return;
  const { seconds, nanos } = value;
  const isTime = seconds >= FIRST_SECOND && seconds <= LAST_SECOND && nanos >= 0 && nanos < 1_000_000_000;
  if (!isTime) report(field, "is not a time from year 1 to 9999");
}

function pageSize(value: number | undefined, report: Report): void {
  const { min, max } = pageSizes;
  if (value !== undefined && (value < min || value > max)) report("pageSize", `must be from ${min} to ${max}`);
}

/**
 * Binary requests can carry values that JSON cannot express: numbers that are not finite, values without a kind, and
 * nesting deeper than a stored entry allows. Every binding rejects them (specification 5.1).
 */

const tooDeep = `is nested more than ${REQUEST_JSON_LEVELS} levels deep`;
const notFinite = "has a number that is not finite";

/** Describes the violation of a `google.protobuf.Value`, or returns undefined. */
export function valueFault(value: Value, depth = 0): string | undefined {
  const { kind } = value;
  switch (kind.case) {
    case undefined:
      return "has a value without a kind";
    case "numberValue":
      return Number.isFinite(kind.value) ? undefined : notFinite;
    case "structValue":
      return depth >= REQUEST_JSON_LEVELS ? tooDeep : firstInside(kind.value.fields, depth);
    case "listValue":
      return depth >= REQUEST_JSON_LEVELS ? tooDeep : firstFault(kind.value.values, depth);
    default:
      return undefined;
  }
}

function firstInside(fields: Readonly<Record<string, Value>>, depth: number): string | undefined {
  for (const name in fields) {
    const fault = valueFault(defined(fields[name]), depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function firstFault(values: readonly Value[], depth: number): string | undefined {
  for (const value of values) {
    const fault = valueFault(value, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Describes the violation of JSON that arrived as a `google.protobuf.Struct`, or returns undefined. */
export function jsonFault(json: JsonValue | undefined, depth = 0): string | undefined {
  if (typeof json === "number") return Number.isFinite(json) ? undefined : notFinite;
  if (typeof json !== "object" || json === null) return undefined;
  if (depth >= REQUEST_JSON_LEVELS) return tooDeep;
  for (const inner of Object.values(json)) {
    const fault = jsonFault(inner, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
