import type { DescMethod } from "@bufbuild/protobuf";
import { A2AError, invalid, type Violation } from "../../core/error.js";

/** What fields of 1.0 are called in the JSON of the contract of 0.3, at the beginning of a path or in it. */
const renamed: readonly (readonly [RegExp, string])[] = [
  [/^message\.parts\b/, "message.content"],
  [/^configuration\.taskPushNotificationConfig\b/, "configuration.pushNotification"],
];

/** What stands for the ids of tasks and webhooks, by the rpc: a resource name. */
const nameOf = (method: string): readonly [field: string, form: string] | undefined => {
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

/** An error in the words of 0.3: what was wrong with a request is named as that version names it. All others are as they were. */
export function explained(error: unknown, { name }: DescMethod): unknown {
  if (!(error instanceof A2AError) || error.reason !== "INVALID_PARAMS" || error.violations.length === 0) return error;
  const violations = error.violations.map((each) => inWords(each, name));
  return invalid(violations.filter(({ field }, i) => violations.findIndex((each) => each.field === field) === i));
}

function inWords({ field, description }: Violation, method: string): Violation {
  const resource = nameOf(method);
  if (resource !== undefined && (field === "id" || field === "taskId")) {
    const [name, form] = resource;
    // What is no such name has no id.
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
