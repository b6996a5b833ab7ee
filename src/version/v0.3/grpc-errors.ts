import type { DescMethod } from "@bufbuild/protobuf";
import { A2AError, invalid, type Violation } from "../../core/error.js";

/** Fields of 1.0 with their names in the JSON of the 0.3 contract, at the beginning of a path or inside it. */
const renamed: readonly (readonly [RegExp, string])[] = [
  [/^message\.parts\b/, "message.content"],
  [/^configuration\.taskPushNotificationConfig\b/, "configuration.pushNotification"],
];

/** The field that replaces the ids of tasks and webhooks, by rpc: a resource name. */
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

/** Converts an error to 0.3: renames the fields in the violations of a request. Other errors are not changed. */
export function explained(error: unknown, { name }: DescMethod): unknown {
  if (!(error instanceof A2AError) || error.reason !== "INVALID_PARAMS" || error.violations.length === 0) return error;
  const violations = error.violations.map((each) => inWords(each, name));
  return invalid(violations.filter(({ field }, i) => violations.findIndex((each) => each.field === field) === i));
}

function inWords({ field, description }: Violation, method: string): Violation {
  const resource = nameOf(method);
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
