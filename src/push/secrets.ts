import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { clone, create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type TaskPushNotificationConfig, TaskPushNotificationConfigSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type PushConfig, PushConfigSchema, type SealedPushConfig } from "../../gen/parley/log/v1/log_pb.js";
import type { PushConfigKey } from "../store/task-store.js";
import { keyBytes } from "./encryption-key.js";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** What was stored of a configuration. */
export interface OpenedConfig {
  readonly config: TaskPushNotificationConfig;
  /** The version of the protocol in which its client asked for it, and gets its notifications; empty for that of the service. */
  readonly version: string;
}

/** A configuration was encrypted by a key that this server does not have. It may get it again: nothing is lost. */
export class MissingKeyError extends Error {
  override name = "MissingKeyError";

  constructor(readonly keyId: string) {
    super(`The configuration is encrypted by the key ${keyId}, which is not among push.encryptionKeys.`);
  }
}

/**
 * Configurations as they are stored. With a key all of it is encrypted: besides token and credentials, path and query of a webhook's
 * URL are secrets, too, as often as not. The store keeps scheme, host and port beside it.
 */
export class ConfigVault {
  /** By their ids; the first one encrypts. */
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  /** Names the key that encrypts, by a digest of it; undefined where nothing is encrypted. */
  readonly currentKeyId: string | undefined;

  /** @param keys as in `PushOptions.encryptionKeys`, checked. */
  constructor(keys: readonly (string | Uint8Array)[]) {
    const all = keys.flatMap((given) => keyBytes(given) ?? []).map((key) => [keyIdOf(key), key] as const);
    this.#keys = new Map(all);
    this.currentKeyId = all[0]?.[0];
  }

  /** The bytes to store. */
  seal(place: PushConfigKey, config: TaskPushNotificationConfig, version = ""): Uint8Array {
    const plain = clone(TaskPushNotificationConfigSchema, config);
    plain.id = "";
    plain.taskId = "";
    const stored = create(PushConfigSchema, { version });
    const keyId = this.currentKeyId;
    const key = keyId === undefined ? undefined : this.#keys.get(keyId);
    if (keyId === undefined || key === undefined) {
      stored.form = { case: "plain", value: plain };
      return toBinary(PushConfigSchema, stored);
    }
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(boundTo(place, version));
    const text = cipher.update(toBinary(TaskPushNotificationConfigSchema, plain));
    const ciphertext = Buffer.concat([text, cipher.final(), cipher.getAuthTag()]);
    stored.form = { case: "sealed", value: { $typeName: SEALED, keyId, nonce, ciphertext } };
    return toBinary(PushConfigSchema, stored);
  }

  /**
   * What was stored at a place, with its ids.
   *
   * @throws MissingKeyError when its key is not here, Error when it is damaged or was stored at another place.
   */
  open(place: PushConfigKey, bytes: Uint8Array): OpenedConfig {
    const { form, version } = read(bytes);
    if (form.case === undefined) throw damaged();
    const config = form.case === "plain" ? form.value : this.#decrypt(place, form.value, version);
    config.id = place.configId;
    config.taskId = place.taskId;
    return { config, version };
  }

  #decrypt(
    place: PushConfigKey,
    { keyId, nonce, ciphertext }: SealedPushConfig,
    version: string,
  ): TaskPushNotificationConfig {
    const key = this.#keys.get(keyId);
    if (key === undefined) throw new MissingKeyError(keyId);
    try {
      const end = ciphertext.length - TAG_BYTES;
      const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(boundTo(place, version)).setAuthTag(ciphertext.subarray(end));
      const text = Buffer.concat([decipher.update(ciphertext.subarray(0, end)), decipher.final()]);
      return fromBinary(TaskPushNotificationConfigSchema, text);
    } catch (cause) {
      throw damaged(cause);
    }
  }

  /** Whether the key that encrypts now has encrypted it. Where there is none, everything may stay as it is. */
  isCurrent(bytes: Uint8Array): boolean {
    if (this.currentKeyId === undefined) return true;
    const { form } = read(bytes);
    return form.case === "sealed" && form.value.keyId === this.currentKeyId;
  }
}

const SEALED: SealedPushConfig["$typeName"] = "parley.log.v1.SealedPushConfig";

function read(bytes: Uint8Array): PushConfig {
  try {
    return fromBinary(PushConfigSchema, bytes);
  } catch (cause) {
    throw damaged(cause);
  }
}

const damaged = (cause?: unknown): Error => new Error("The stored configuration is damaged.", { cause });

/** What a ciphertext is authenticated with, so that it cannot be copied to the configuration of another task. */
function boundTo({ taskId, configId }: PushConfigKey, version: string): Buffer {
  // What was stored before there were other versions has none of this.
  const origin = version === "" ? [] : [version];
  return Buffer.from(JSON.stringify(["parley push configuration 1", taskId, configId, ...origin]));
}

/** Tells nothing of the key. */
function keyIdOf(key: Uint8Array): string {
  return createHmac("sha256", key).update("parley push key id").digest().subarray(0, 8).toString("base64url");
}
