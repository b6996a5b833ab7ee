import type { Fields, JsonObject } from "../../wire/json-form.js";
import { isJsonObject } from "../../wire/json-struct.js";
import type { Violations } from "../../wire/violations.js";

/** Resource names of tasks and webhooks in the contract of 0.3 (AIP-122). 1.0 has only their ids. */

const taskPattern = /^tasks\/([^/]+)$/;
const configPattern = /^tasks\/([^/]+)\/pushNotificationConfigs\/([^/]+)$/;

export function taskName(id: string): string {
  return `tasks/${id}`;
}

export function configName({ taskId, id }: ConfigIds): string {
  return `tasks/${taskId}/pushNotificationConfigs/${id}`;
}

/**
 * Returns the id in the name of a task. Empty for a malformed name, so that the request is rejected like one without an
 * id.
 */
export function resourceTaskId(name: string): string {
  return taskPattern.exec(name)?.[1] ?? "";
}

interface ConfigIds {
  readonly taskId: string;
  readonly id: string;
}

/** Returns the ids in the name of a webhook; both empty for a malformed name. */
export function configIdsOf(name: string): ConfigIds {
  const [, taskId = "", id = ""] = configPattern.exec(name) ?? [];
  return { taskId, id };
}

/**
 * `tasks/{id}` or `tasks/{id}/pushNotificationConfigs/{id}` in JSON. The id of a task may contain a slash, which is
 * encoded in paths.
 */
const pattern = /^tasks\/(.+?)(?:\/pushNotificationConfigs(?:\/([^/]*))?)?$/s;

/** Contents of a resource name. */
interface Resource {
  readonly taskId: string;
  readonly configId: string | undefined;
}

/** Parses a resource name; undefined if malformed. */
export function parseResource(name: string): Resource | undefined {
  const [, taskId, configId] = pattern.exec(name) ?? [];
  return taskId === undefined ? undefined : { taskId, configId: configId === "" ? undefined : configId };
}

/**
 * Returns the resource that a member of an object names. Undefined if the member is absent, or if it added a violation.
 */
function readResource(json: JsonObject, member: string, at: Violations): Resource | undefined {
  const name = json[member];
  if (name === undefined || name === null || name === "") return undefined;
  const resource = typeof name === "string" ? parseResource(name) : undefined;
  return resource ?? at.add("must be a name such as tasks/{id} or tasks/{id}/pushNotificationConfigs/{id}", member);
}

/**
 * Sets the ids of a configuration from the names around it. The request names the task in several places, which must
 * agree. The configuration's id in the request takes precedence over those inside.
 */
export function settleConfigIds(message: Fields, json: JsonObject, at: Violations): void {
  const config = isJsonObject(json.config) ? json.config : {};
  const parent = readResource(json, "parent", at);
  const name = readResource(json, "name", at);
  at.enter("config");
  const innerName = readResource(config, "name", at);
  at.leave();
  for (const [member, resource] of [
    ["parent", parent],
    ["name", name],
    ["config", innerName],
  ] as const) {
    if (resource === undefined) continue;
    if (message.taskId === "") message.taskId = resource.taskId;
    else if (message.taskId !== resource.taskId) at.add(`names another task than ${message.taskId}`, member);
  }
  const given = [json.configId, json.config_id].find((id) => typeof id === "string" && id !== "");
  const id = given ?? name?.configId ?? innerName?.configId;
  if (id !== undefined) message.id = id;
}
