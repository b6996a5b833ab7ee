/** Tasks and webhooks go by resource names in the contract of 0.3 (AIP-122); 1.0 has their ids alone. */

const taskPattern = /^tasks\/([^/]+)$/;
const configPattern = /^tasks\/([^/]+)\/pushNotificationConfigs\/([^/]+)$/;

export function taskName(id: string): string {
  return `tasks/${id}`;
}

export function configName({ taskId, id }: ConfigIds): string {
  return `tasks/${taskId}/pushNotificationConfigs/${id}`;
}

/** The id in the name of a task. Empty for a malformed name: the request is then rejected like any without an id. */
export function taskIdOf(name: string): string {
  return taskPattern.exec(name)?.[1] ?? "";
}

export interface ConfigIds {
  readonly taskId: string;
  readonly id: string;
}

/** The ids in the name of a webhook; both empty for a malformed name. */
export function configIdsOf(name: string): ConfigIds {
  const [, taskId = "", id = ""] = configPattern.exec(name) ?? [];
  return { taskId, id };
}
