import type { DescMethod, Message } from "@bufbuild/protobuf";
import { A2AService } from "../../../gen/a2a/v1/a2a_pb.js";
import { A2AError, invalid, StatusCode, type Violation } from "../../core/error.js";
import { defined } from "../../core/members.js";
import { carry } from "../../wire/marks.js";
import { type MethodHandler, mapAnswer } from "../method-handler.js";
import type { ErrorCodes, LoadedService } from "../version.js";
import { behave } from "./behaviour.js";
import { filesAsText } from "./file-text.js";
import { fromNative, methodPairs, toNative } from "./messages.js";

/** The conversion between a method of 0.3 and the service's. */
interface Translation {
  readonly native: DescMethod;
  readonly up: (request: Message) => Message;
  readonly down: (answer: Message) => Message;
}

const translations: ReadonlyMap<string, Translation> = new Map(
  methodPairs.map(({ earlier, native }) => {
    const convert = fromNative(native.output, earlier.output);
    const down = (answer: Message): Message => carry(answer, convert(answer));
    return [earlier.name, { native, up: toNative(earlier.input, native.input), down }];
  }),
);

/** Converts calls to 1.0 and their responses back, with the behaviour of 0.3 in between. */
function translateGrpc(service: MethodHandler): MethodHandler {
  const behaving = filesAsText(behave(service));
  return async ({ method, request, call }) => {
    const { native, up, down } = defined(translations.get(method.name));
    try {
      const answer = await behaving({ method: native, request: up(request), call });
      return mapAnswer(answer, down);
    } catch (error) {
      throw explained(error, method);
    }
  };
}

/** Codes used by its servers that differ from 1.0. The documents of 0.3 define none. */
const codes: ErrorCodes = {
  PUSH_NOTIFICATION_NOT_SUPPORTED: StatusCode.UNIMPLEMENTED,
  UNSUPPORTED_OPERATION: StatusCode.UNIMPLEMENTED,
  EXTENSION_SUPPORT_REQUIRED: StatusCode.UNIMPLEMENTED,
};

export const loadedService: LoadedService = { service: A2AService, translate: translateGrpc, codes };

/** Fields of 1.0 with their names in the JSON of the 0.3 contract, at the beginning of a path or inside it. */
const renamed: readonly (readonly [RegExp, string])[] = [
  [/^message\.parts\b/, "message.content"],
  [/^configuration\.taskPushNotificationConfig\b/, "configuration.pushNotification"],
];

/** The field that replaces the ids of tasks and webhooks, by rpc: a resource name. */
const resourceField = (method: string): readonly [field: string, form: string] | undefined => {
  switch (method) {
    case "GetTask":
    case "CancelTask":
    case "TaskSubscription":
      return ["name", "tasks/{id}"];
    case "ListTaskPushNotificationConfig":
    case "CreateTaskPushNotificationConfig":
      return ["parent", "tasks/{id}"];
    case "GetTaskPushNotificationConfig":
    case "DeleteTaskPushNotificationConfig":
      return ["name", "tasks/{id}/pushNotificationConfigs/{id}"];
    default:
      return undefined;
  }
};

/** Converts an error to 0.3: renames the fields in the violations of a request. Other errors are not changed. */
function explained(error: unknown, { name }: DescMethod): unknown {
  if (!(error instanceof A2AError) || error.reason !== "INVALID_PARAMS" || error.violations.length === 0) return error;
  const violations = error.violations.map((each) => inWords(each, name));
  return invalid(violations.filter(({ field }, i) => violations.findIndex((each) => each.field === field) === i));
}

function inWords({ field, description }: Violation, method: string): Violation {
  const resource = resourceField(method);
  if (resource !== undefined && (field === "id" || field === "taskId")) {
    const [name, form] = resource;
    // A malformed name has no id.
    return { field: name, description: description.startsWith("is longer") ? description : `must be ${form}` };
  }
  if (method === "CreateTaskPushNotificationConfig" && field !== "parent") {
    return { field: `config.pushNotificationConfig.${field}`, description };
  }
  const [pattern, name] = renamed.find(([each]) => each.test(field)) ?? [];
  return {
    field: pattern === undefined || name === undefined ? field : field.replace(pattern, name),
    description: description.replace("text, raw, url, data", "text, file, data"),
  };
}
