import { clone, create } from "@bufbuild/protobuf";
import {
  type AuthenticationInfo,
  AuthenticationInfoSchema,
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../core/error.js";
import { newId } from "../core/ids.js";
import type { Limits } from "../core/limits.js";
import type { NewPushConfig, PushConfigKey } from "../store/task-store.js";
import { type ConfigVault, MissingKeyError } from "./secrets.js";

/** Checks the URL of a configuration. */
export interface WebhookCheck {
  /** @throws A2AError INVALID_PARAMS that names the field `url`, UNAVAILABLE */
  check(url: string): Promise<{ readonly host: string }>;
}

interface ConfigurationsOptions {
  readonly vault: ConfigVault;
  /** The URL check, loaded on first use. */
  readonly guard: () => Promise<WebhookCheck>;
  readonly limits: Pick<Limits, "maxPushConfigsPerTask" | "maxPushConfigsPerOwner">;
}

/** A configuration that may be stored. */
export interface AcceptedConfig {
  /** Returns its id, for a task. */
  readonly configIdFor: (taskId: string) => string;
  /** Returns its stored form, for a task. */
  readonly storedFor: (taskId: string) => NewPushConfig;
  /** Returns the client's view of it, as stored for a task. */
  readonly shownFor: (taskId: string) => TaskPushNotificationConfig;
}

/** Converts push notification configurations between their public and stored forms (specification 3.1.7 to 3.1.9). */
export class PushConfigurations {
  readonly #options: ConfigurationsOptions;

  constructor(options: ConfigurationsOptions) {
    this.#options = options;
  }

  /**
   * Accepts a client's configuration if its fields are valid and its URL is allowed.
   *
   * @param version protocol version of its notifications; empty for the service's own
   * @param namedByTask true if a configuration without an id gets the id of its task
   * @throws A2AError INVALID_PARAMS that names the field `url`; UNAVAILABLE if its host cannot be resolved at present.
   */
  async accept(given: TaskPushNotificationConfig, version: string, namedByTask = false): Promise<AcceptedConfig> {
    const guard = await this.#options.guard();
    const { host } = await guard.check(given.url);
    const { vault, limits } = this.#options;
    const id = given.id === "" && !namedByTask ? newId() : given.id;
    const configIdFor = (taskId: string): string => (id === "" ? taskId : id);
    return {
      configIdFor,
      storedFor: (taskId) => {
        const configId = configIdFor(taskId);
        return {
          configId,
          bytes: vault.seal({ taskId, configId }, plainOf(given), version),
          target: host,
          maxPerTask: limits.maxPushConfigsPerTask,
          maxPerOwner: limits.maxPushConfigsPerOwner,
        };
      },
      shownFor: (taskId) => masked({ ...given, id: configIdFor(taskId), taskId }),
    };
  }

  /**
   * Returns the client's view of a stored configuration.
   *
   * @throws A2AError UNAVAILABLE if the key that encrypted it is missing, INTERNAL if it is damaged.
   */
  shown(key: PushConfigKey, bytes: Uint8Array): TaskPushNotificationConfig {
    try {
      return masked(this.#options.vault.open(key, bytes).config);
    } catch (cause) {
      if (!(cause instanceof MissingKeyError)) throw cause;
      const message = "The push notification configuration cannot be read at present; it can be deleted or replaced.";
      throw new A2AError("UNAVAILABLE", message, { cause });
    }
  }
}

/** Copies a configuration without its tenant, which its row has. */
function plainOf(given: TaskPushNotificationConfig): TaskPushNotificationConfig {
  const plain = clone(TaskPushNotificationConfigSchema, given);
  plain.tenant = "";
  return plain;
}

/**
 * Copies a configuration without its token and credentials, which are never returned. They are omitted instead of
 * masked by stars, which a client that updates a configuration would send back as new secrets. The URL stays whole,
 * since clients identify their webhooks by it.
 */
function masked({ tenant, id, taskId, url, authentication }: TaskPushNotificationConfig): TaskPushNotificationConfig {
  const shown = create(TaskPushNotificationConfigSchema);
  shown.tenant = tenant;
  shown.id = id;
  shown.taskId = taskId;
  shown.url = url;
  if (authentication !== undefined) shown.authentication = schemeOf(authentication);
  return shown;
}

function schemeOf({ scheme }: AuthenticationInfo): AuthenticationInfo {
  const shown = create(AuthenticationInfoSchema);
  shown.scheme = scheme;
  return shown;
}
