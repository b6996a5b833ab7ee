import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  ListTaskPushNotificationConfigsResponseSchema,
  type TaskPushNotificationConfig,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { forAudit } from "../../audit/audit.js";
import type { Call } from "../../core/call.js";
import { A2AError, invalid, taskNotFound } from "../../core/error.js";
import { CauseLogger, type Logger, logFacts } from "../../core/log.js";
import { parseUrl } from "../../core/net.js";
import type { AcceptedConfig, PushConfigurations } from "../../push/configurations.js";
import type { PushConfigKey } from "../../store/task-store.js";
import { versionFactsOf } from "../../version/facts.js";
import type { ServiceOptions } from "../options.js";
import { configAfter, configPageToken } from "../page-token.js";
import { pushPageSizes } from "../rules.js";
import { type Context, type OperationParts, type ServiceMethods, scopeOf } from "./operation.js";

/**
 * Push notification configurations (specification 3.1.7 to 3.1.10). A configuration of another owner is answered like
 * one that does not exist, with "task not found" (3.1.8). The answers contain neither token nor credentials.
 */
export function pushOperations({
  options,
}: OperationParts): Pick<
  ServiceMethods,
  | "createTaskPushNotificationConfig"
  | "getTaskPushNotificationConfig"
  | "listTaskPushNotificationConfigs"
  | "deleteTaskPushNotificationConfig"
> {
  const { engine } = options;
  return {
    async createTaskPushNotificationConfig(request, context) {
      const { call } = context;
      const { taskId } = request;
      const push = pushOf(options, context);
      // Checked first, so that a caller without such a task learns nothing of URLs and causes no name look-up.
      const storedId = await engine.pushConfigs.find(scopeOf(call), taskId);
      const accepted = await acceptConfig(push, request, {
        field: "url",
        version: otherVersion(options, call),
        logger: new CauseLogger(options.logger, call),
      });
      await engine.pushConfigs.put(scopeOf(call), storedId, accepted.storedFor(storedId));
      recordConfig(options, context, "push.config-stored", { taskId, configId: accepted.configIdFor(taskId) });
      return ofCall(accepted.shownFor(taskId), call, taskId);
    },

    async getTaskPushNotificationConfig({ taskId, id }, context) {
      const push = pushOf(options, context);
      const found = await engine.pushConfigs.get(scopeOf(context.call), { taskId, configId: id });
      if (found === undefined) throw taskNotFound(taskId);
      return ofCall(push.shown(found.key, found.bytes), context.call, taskId);
    },

    async listTaskPushNotificationConfigs({ taskId, pageSize, pageToken }, context) {
      const push = pushOf(options, context);
      const { call } = context;
      const scope = { ...scopeOf(call), taskId };
      const limit = Math.min(pageSize || pushPageSizes.default, pushPageSizes.max);
      const after = pageToken === "" ? "" : configAfter(pageToken, scope);
      // Reads one more than the page shows, to detect that another page follows.
      const found = await engine.pushConfigs.list(scope, { taskId, after, limit: limit + 1 });
      const page = found.slice(0, limit);
      const response = create(ListTaskPushNotificationConfigsResponseSchema);
      response.configs = page.map(({ key, bytes }) => ofCall(push.shown(key, bytes), call, taskId));
      const last = page.at(-1)?.key;
      if (found.length > limit && last !== undefined) response.nextPageToken = configPageToken(last.configId, scope);
      return response;
    },

    async deleteTaskPushNotificationConfig({ taskId, id }, context) {
      pushOf(options, context);
      await engine.pushConfigs.delete(scopeOf(context.call), { taskId, configId: id });
      recordConfig(options, context, "push.config-deleted", { taskId, configId: id });
      return create(EmptySchema);
    },
  };
}

/**
 * Accepts the push configuration of a message (specification 3.2.2).
 *
 * @throws A2AError PUSH_NOTIFICATION_NOT_SUPPORTED, which section 3.3.2 requires for every use of an unsupported
 * configuration; INVALID_PARAMS; UNAVAILABLE
 */
export async function configOfSend(
  options: ServiceOptions,
  config: TaskPushNotificationConfig,
  context: Context,
  taskId: string,
): Promise<AcceptedConfig> {
  const push = pushOf(options, context);
  const place = "configuration.taskPushNotificationConfig.";
  if (config.taskId !== "" && config.taskId !== taskId) {
    throw invalid([{ field: `${place}taskId`, description: "is not the task of the message: leave it empty" }]);
  }
  const { call } = context;
  const version = otherVersion(options, call);
  const logger = new CauseLogger(options.logger, call);
  const namedByTask = versionFactsOf(call).namesConfigByTask;
  return acceptConfig(push, config, { field: `${place}url`, version, logger, namedByTask });
}

/** Returns the version of a call. Empty for the service's own version, and for one with the same notifications. */
function otherVersion({ versions }: ServiceOptions, { version }: Call): string {
  return versions.isAsNative(version) ? "" : version;
}

interface ConfigRequest {
  /** Path of the URL in the request. */
  readonly field: string;
  /** See `PushConfigurations.accept`. */
  readonly version: string;
  readonly logger: Logger;
  readonly namedByTask?: boolean;
}

async function acceptConfig(
  push: PushConfigurations,
  config: TaskPushNotificationConfig,
  { field, version, logger, namedByTask }: ConfigRequest,
): Promise<AcceptedConfig> {
  try {
    return await push.accept(config, version, namedByTask);
  } catch (error) {
    if (!(error instanceof A2AError) || error.reason !== "INVALID_PARAMS") throw error;
    const refused = invalid(error.violations.map(({ description }) => ({ field, description })));
    const target = parseUrl(config.url)?.origin ?? "";
    // The client does not learn the violated rule, because it could reveal inner networks.
    const why = error.cause instanceof Error ? error.cause.message : error.message;
    logger.debug({ target, why }, "push notifications to this target are forbidden");
    throw forAudit(refused, { event: "push.target-refused", target, reason: "create" });
  }
}

/** @throws A2AError if the server sends no push notifications, or the agent's card does not declare them */
function pushOf({ push }: ServiceOptions, { served }: Context): PushConfigurations {
  if (push !== undefined && served.card.capabilities?.pushNotifications === true) return push;
  throw new A2AError("PUSH_NOTIFICATION_NOT_SUPPORTED", "The agent does not support push notifications.");
}

/** @param taskId the id in the call; the task may be stored under another id */
function ofCall(config: TaskPushNotificationConfig, call: Call, taskId: string): TaskPushNotificationConfig {
  config.tenant = call.tenant;
  config.taskId = taskId;
  return config;
}

/** Records a change of a configuration in the audit log. */
export function recordConfig(
  { audit }: ServiceOptions,
  { call }: Context,
  event: "push.config-stored" | "push.config-deleted",
  { taskId, configId }: PushConfigKey,
): void {
  if (audit === undefined) return;
  const { binding, tenant, caller, peer, requestId, traceParent, agent } = call;
  const { owner, subject } = caller;
  const target = `${taskId}/${configId}`;
  // A message that creates its task does not name it.
  const facts = logFacts({ requestId, traceParent, taskId, agent });
  audit.record({ event, tenant, owner, subject, address: peer.address, binding, target, ...facts });
}
