import type { Message as AnyMessage, DescMessage, JsonValue, MessageShape } from "@bufbuild/protobuf";
import {
  CancelTaskRequestSchema,
  GetTaskRequestSchema,
  ListTaskPushNotificationConfigsRequestSchema,
  ListTasksRequestSchema,
  MessageSchema,
  PartSchema,
  Role,
  SendMessageConfigurationSchema,
  SendMessageRequestSchema,
  SubscribeToTaskRequestSchema,
  TaskState,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { Limits } from "../core/limits.js";
import { jsonFault, valueFault } from "./json-values.js";

/** Called for every violation; the field is a path that begins in the message that is checked. */
export type Report = (field: string, description: string) => void;

/** Reports what is wrong with the values of one message, beyond missing fields. A valid message costs no allocation. */
export type Rule = (message: AnyMessage, report: Report) => void;

/** Smallest and largest page of a task list (specification 3.1.4 and the contract's comments). */
export const pageSizes = { min: 1, max: 100, default: 50 } as const;

/** The value rules of all requests, by type name. */
export function rulesFor(limits: Limits): ReadonlyMap<string, Rule> {
  const { maxIdLength, maxParts, maxReferences, maxExtensions } = limits;
  const id = (field: string, value: string, report: Report): void => {
    if (value.length > maxIdLength) report(field, `is longer than ${maxIdLength} characters`);
  };
  const ids = (field: string, values: readonly string[], max: number, report: Report): void => {
    many(field, values, max, report);
    for (let i = 0; i < values.length; i++) id(`${field}[${i}]`, values[i] as string, report);
  };
  return new Map([
    rule(MessageSchema, (message, report) => {
      id("messageId", message.messageId, report);
      id("contextId", message.contextId, report);
      id("taskId", message.taskId, report);
      role(message.role, report);
      many("parts", message.parts, maxParts, report);
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
    rule(GetTaskRequestSchema, (request, report) => {
      id("tenant", request.tenant, report);
      id("id", request.id, report);
      notNegative("historyLength", request.historyLength, report);
    }),
    rule(CancelTaskRequestSchema, (request, report) => {
      id("tenant", request.tenant, report);
      id("id", request.id, report);
    }),
    rule(SubscribeToTaskRequestSchema, (request, report) => {
      id("tenant", request.tenant, report);
      id("id", request.id, report);
    }),
    rule(ListTasksRequestSchema, (request, report) => {
      id("tenant", request.tenant, report);
      id("contextId", request.contextId, report);
      notNegative("historyLength", request.historyLength, report);
      if (TaskState[request.status] === undefined) report("status", "is not a known task state");
      pageSize(request.pageSize, report);
    }),
    rule(ListTaskPushNotificationConfigsRequestSchema, (request, report) =>
      notNegative("pageSize", request.pageSize, report),
    ),
  ]);
}

function rule<D extends DescMessage>(
  desc: D,
  check: (message: MessageShape<D>, report: Report) => void,
): [string, Rule] {
  return [desc.typeName, check as Rule];
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

/** Clients speak as users (the contract's comments on Role). An absent role is reported as missing. */
function role(value: Role, report: Report): void {
  if (value !== Role.USER && value !== Role.UNSPECIFIED) report("role", "must be ROLE_USER in a message to an agent");
}

function pageSize(value: number | undefined, report: Report): void {
  const { min, max } = pageSizes;
  if (value !== undefined && (value < min || value > max)) report("pageSize", `must be from ${min} to ${max}`);
}
