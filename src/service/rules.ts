import type { Message as AnyMessage, DescMessage, MessageShape } from "@bufbuild/protobuf";
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
import type { Violation } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { jsonFault, valueFault } from "./json-values.js";

/** What is wrong with the values of one message, beyond missing fields. */
export type Rule = (message: AnyMessage) => Violation[];

const fault = (field: string, description: string | undefined): Violation[] =>
  description === undefined ? [] : [{ field, description }];

/** Smallest and largest page of a task list (specification 3.1.4 and the contract's comments). */
export const pageSizes = { min: 1, max: 100, default: 50 } as const;

/** The value rules of all requests, by type name. */
export function rulesFor(limits: Limits): ReadonlyMap<string, Rule> {
  const id = (field: string, value: string): Violation[] => longer(field, value.length, limits.maxIdLength);
  return new Map([
    rule(MessageSchema, (message) => [
      ...id("messageId", message.messageId),
      ...id("contextId", message.contextId),
      ...id("taskId", message.taskId),
      ...role(message.role),
      ...more("parts", message.parts.length, limits.maxParts),
      ...more("referenceTaskIds", message.referenceTaskIds.length, limits.maxReferences),
      ...more("extensions", message.extensions.length, limits.maxExtensions),
      ...fault("metadata", jsonFault(message.metadata)),
      ...message.extensions.flatMap((uri, index) => id(`extensions[${index}]`, uri)),
      ...message.referenceTaskIds.flatMap((taskId, index) => id(`referenceTaskIds[${index}]`, taskId)),
    ]),
    rule(PartSchema, (part) => [
      ...(part.content.case === undefined ? [{ field: "", description: "needs one of text, raw, url, data" }] : []),
      ...(part.content.case === "data" ? fault("data", valueFault(part.content.value)) : []),
      ...fault("metadata", jsonFault(part.metadata)),
      ...id("filename", part.filename),
      ...id("mediaType", part.mediaType),
    ]),
    rule(SendMessageRequestSchema, (request) => [
      ...id("tenant", request.tenant),
      ...fault("metadata", jsonFault(request.metadata)),
    ]),
    rule(SendMessageConfigurationSchema, (configuration) => [
      ...negative("historyLength", configuration.historyLength),
      ...more("acceptedOutputModes", configuration.acceptedOutputModes.length, limits.maxExtensions),
      ...configuration.acceptedOutputModes.flatMap((mode, index) => id(`acceptedOutputModes[${index}]`, mode)),
    ]),
    rule(GetTaskRequestSchema, (request) => [
      ...id("id", request.id),
      ...negative("historyLength", request.historyLength),
    ]),
    rule(CancelTaskRequestSchema, (request) => id("id", request.id)),
    rule(SubscribeToTaskRequestSchema, (request) => id("id", request.id)),
    rule(ListTasksRequestSchema, (request) => [
      ...id("tenant", request.tenant),
      ...id("contextId", request.contextId),
      ...negative("historyLength", request.historyLength),
      ...state(request.status),
      ...pageSize(request.pageSize),
    ]),
    rule(ListTaskPushNotificationConfigsRequestSchema, (request) => negative("pageSize", request.pageSize)),
  ]);
}

function rule<D extends DescMessage>(desc: D, check: (message: MessageShape<D>) => Violation[]): [string, Rule] {
  return [desc.typeName, (message) => check(message as MessageShape<D>)];
}

function longer(field: string, length: number, max: number): Violation[] {
  return length > max ? [{ field, description: `is longer than ${max} characters` }] : [];
}

function more(field: string, count: number, max: number): Violation[] {
  return count > max ? [{ field, description: `has more than ${max} elements` }] : [];
}

function negative(field: string, value: number | undefined): Violation[] {
  return value !== undefined && value < 0 ? [{ field, description: "must not be negative" }] : [];
}

/** Clients speak as users (the contract's comments on Role). An absent role is reported as missing. */
function role(value: Role): Violation[] {
  return value === Role.USER || value === Role.UNSPECIFIED
    ? []
    : [{ field: "role", description: "must be ROLE_USER in a message to an agent" }];
}

function state(value: TaskState): Violation[] {
  return TaskState[value] === undefined ? [{ field: "status", description: "is not a known task state" }] : [];
}

function pageSize(value: number | undefined): Violation[] {
  const { min, max } = pageSizes;
  return value !== undefined && (value < min || value > max)
    ? [{ field: "pageSize", description: `must be from ${min} to ${max}` }]
    : [];
}
