import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { clone, create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type TaskPushNotificationConfig, TaskPushNotificationConfigSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type PushConfig, PushConfigSchema, type SealedPushConfig } from "../../gen/parley/log/v1/log_pb.js";
import type { PushConfigKey } from "../store/task-store.js";
import { keyBytes } from "./encryption-key.js";

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The decrypted configuration. */
export interface OpenedConfig {
  readonly config: TaskPushNotificationConfig;
  /** Protocol version of the client that created it and of its notifications; empty for the service's own. */
  readonly version: string;
}

/** The key that encrypted a configuration is missing on this server. Nothing is lost: the key can be added again. */
export class MissingKeyError extends Error {
  override name = "MissingKeyError";

  constructor(readonly keyId: string) {
    super(`The configuration is encrypted by the key ${keyId}, which is not among push.encryptionKeys.`);
  }
}

/**
 * Encrypts and decrypts stored configurations. With a key the whole configuration is encrypted, because path and query
 * of a webhook's URL are often secrets, like token and credentials. The store keeps scheme, host and port unencrypted.
 */
export class ConfigVault {
  /** Keys by id; the first one encrypts. */
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  /** Id of the encrypting key, a digest of it; undefined without encryption. */
  readonly currentKeyId: string | undefined;

  /** @param keys as in `PushOptions.encryptionKeys`, checked. */
  constructor(keys: readonly (string | Uint8Array)[]) {
    const all = keys.flatMap((given) => keyBytes(given) ?? []).map((key) => [keyIdOf(key), key] as const);
    this.#keys = new Map(all);
    this.currentKeyId = all[0]?.[0];
  }

  /** Returns the bytes to store. */
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
   * Returns the configuration stored under a key, with its ids.
   *
   * @throws MissingKeyError if the encryption key is missing, Error if it is damaged or was stored under another key.
   */
  open(place: PushConfigKey, bytes: Uint8Array): OpenedConfig {
    const { form, version } = decodedConfig(bytes);
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

  /** True if the current key encrypted it, or if no current key is set. */
  isCurrent(bytes: Uint8Array): boolean {
    if (this.currentKeyId === undefined) return true;
    const { form } = decodedConfig(bytes);
    return form.case === "sealed" && form.value.keyId === this.currentKeyId;
  }
}

const SEALED: SealedPushConfig["$typeName"] = "parley.log.v1.SealedPushConfig";

function decodedConfig(bytes: Uint8Array): PushConfig {
  try {
    return fromBinary(PushConfigSchema, bytes);
  } catch (cause) {
    throw damaged(cause);
  }
}

const damaged = (cause?: unknown): Error => new Error("The stored configuration is damaged.", { cause });

/** Additional authenticated data, so that a ciphertext cannot be copied to the configuration of another task. */
function boundTo({ taskId, configId }: PushConfigKey, version: string): Buffer {
  // Bytes stored before the support of other versions have no version.
  const origin = version === "" ? [] : [version];
  return Buffer.from(JSON.stringify(["parley push configuration 1", taskId, configId, ...origin]));
}

/** Returns the id of a key, which does not reveal the key. */
function keyIdOf(key: Uint8Array): string {
  return createHmac("sha256", key).update("parley push key id").digest().subarray(0, 8).toString("base64url");
}
