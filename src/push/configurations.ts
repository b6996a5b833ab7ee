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

/** Judges where a configuration wants notifications to go. */
export interface WebhookCheck {
  /** @throws A2AError INVALID_PARAMS that names the field `url`, UNAVAILABLE */
  check(url: string): Promise<{ readonly host: string }>;
}

/** What configurations are made and read with. */
export interface ConfigurationsOptions {
  readonly vault: ConfigVault;
  /** What checks URLs, loaded when it is first asked for. */
  readonly guard: () => Promise<WebhookCheck>;
  readonly limits: Pick<Limits, "maxPushConfigsPerTask" | "maxPushConfigsPerOwner">;
}

/** A configuration that may be stored. */
export interface AcceptedConfig {
  /** Its id, for a task. */
  readonly configIdFor: (taskId: string) => string;
  /** What is stored of it, for a task. */
  readonly storedFor: (taskId: string) => NewPushConfig;
  /** What the client is shown of it, as it is stored for a task. */
  readonly shownFor: (taskId: string) => TaskPushNotificationConfig;
}

/** Push notification configurations between what clients send and see, and what is stored (specification 3.1.7 to 3.1.9). */
export class PushConfigurations {
  readonly #options: ConfigurationsOptions;

  constructor(options: ConfigurationsOptions) {
    this.#options = options;
  }

  /**
   * Accepts a configuration of a client: one whose fields are valid, and whose URL may be called.
   *
   * @param version of the protocol, in which notifications are to come; empty for that of the service
   * @param namedByTask whether one without an id gets that of its task
   * @throws A2AError INVALID_PARAMS that names the field `url`; UNAVAILABLE where its host cannot be looked up now.
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
   * What a client is shown of a stored configuration.
   *
   * @throws A2AError UNAVAILABLE where the key that encrypted it is missing, INTERNAL where it is damaged.
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

/** The ids are those of its row, and so is the tenant. */
function plainOf(given: TaskPushNotificationConfig): TaskPushNotificationConfig {
  const plain = clone(TaskPushNotificationConfigSchema, given);
  plain.tenant = "";
  return plain;
}

/**
 * A configuration without its secrets: token and credentials never come back. They are left out and not replaced by stars, which a
 * client that changes a configuration that it has read would write back as new secrets. The URL stays whole, since it is what a
 * client knows its webhook by.
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
