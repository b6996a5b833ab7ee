import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { TaskPushNotificationConfigSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { PushConfigSchema } from "../../gen/parley/log/v1/log_pb.js";
import { ConfigVault, MissingKeyError } from "../../src/push/secrets.js";

const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const place = { taskId: "task", configId: "config" };
const config = create(TaskPushNotificationConfigSchema, {
  tenant: "acme",
  id: "config",
  taskId: "task",
  url: "https://hooks.example.com:8443/services/T0/secret-path?sig=secret-query",
  token: "secret-token",
  authentication: { scheme: "Bearer", credentials: "secret-credentials" },
});
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

describe("ConfigVault", () => {
  it("gives back what it was given, with and without keys", () => {
    for (const vault of [new ConfigVault([]), new ConfigVault([key(1)])]) {
      expect(vault.open(place, vault.seal(place, config))).toEqual({ config, version: "" });
      expect(vault.open(place, vault.seal(place, config, "0.3"))).toEqual({ config, version: "0.3" });
    }
  });

  it("reads what was stored before configurations had a version as those of the service's own", () => {
    const plain = { ...config, id: "", taskId: "" };
    const before = toBinary(PushConfigSchema, create(PushConfigSchema, { form: { case: "plain", value: plain } }));
    expect(new ConfigVault([]).open(place, before)).toEqual({ config, version: "" });
    // Bytes that an older server stored, encrypted with the first key.
    const sealed =
      "El0KC20xeUVaQlBfOU0wEgzyf6fOYhIjXnE6TrIaQPVwISYeAA6PG/nLkYhZ21RVI2AB4219QRMaS0giDDBcAy54ZDVZXBG5SLZg2VofbdVVttGIEQt94YvTsRyiZL8=";
    expect(new ConfigVault([key(1)]).open(place, Buffer.from(sealed, "base64"))).toMatchObject({
      config: { taskId: "task", id: "config", url: "https://hooks.example.com/", token: "secret-token" },
      version: "",
    });
  });

  it("leaves nothing readable when it has a key", () => {
    const sealed = textOf(new ConfigVault([key(1)]).seal(place, config));
    for (const secret of ["secret", "hooks.example", "Bearer", "acme"]) expect(sealed).not.toContain(secret);
    expect(textOf(new ConfigVault([]).seal(place, config))).toContain("secret-token");
  });

  it("encrypts the same content to other bytes each time", () => {
    const vault = new ConfigVault([key(1)]);
    expect(textOf(vault.seal(place, config))).not.toBe(textOf(vault.seal(place, config)));
  });

  it("reads with older keys, and without a key what was stored without one", () => {
    const older = new ConfigVault([key(1)]).seal(place, config);
    const plain = new ConfigVault([]).seal(place, config);
    const rotated = new ConfigVault([key(2), key(1)]);
    expect(rotated.open(place, older).config).toEqual(config);
    expect(rotated.open(place, plain).config).toEqual(config);
    expect([older, plain, rotated.seal(place, config)].map((bytes) => rotated.isCurrent(bytes))).toEqual([
      false,
      false,
      true,
    ]);
    expect(new ConfigVault([]).isCurrent(plain)).toBe(true);
    // Without a key the vault cannot encrypt the value anew, so the value counts as current.
    expect(new ConfigVault([]).isCurrent(older)).toBe(true);
  });

  it("says which key is missing, and nothing of what it has", () => {
    const sealed = new ConfigVault([key(1)]).seal(place, config);
    for (const keys of [[], [key(2)]]) {
      const open = (): unknown => new ConfigVault(keys).open(place, sealed);
      expect(open).toThrow(MissingKeyError);
      expect(open).toThrow(
        /^The configuration is encrypted by the key [\w-]{11}, which is not among push\.encryptionKeys\.$/,
      );
    }
  });

  it("names a key in the same words everywhere", () => {
    const id = new ConfigVault([key(1)]).currentKeyId;
    expect(id).toMatch(/^[\w-]{11}$/);
    expect(new ConfigVault([Buffer.from(key(1)).toString("hex")]).currentKeyId).toBe(id);
    expect(new ConfigVault([Buffer.from(key(1)).toString("base64")]).currentKeyId).toBe(id);
    expect(new ConfigVault([key(2)]).currentKeyId).not.toBe(id);
    expect(new ConfigVault([]).currentKeyId).toBeUndefined();
  });

  it("does not open what belongs to another task or configuration, or was changed", () => {
    const vault = new ConfigVault([key(1)]);
    const sealed = vault.seal(place, config);
    const otherVersion = fromBinary(PushConfigSchema, vault.seal(place, config, "0.3"));
    otherVersion.version = "";
    const changed = sealed.slice();
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
    const attempts = [
      () => vault.open({ ...place, taskId: "other" }, sealed),
      () => vault.open({ ...place, configId: "other" }, sealed),
      () => vault.open({ taskId: "taskc", configId: "onfig" }, sealed),
      () => vault.open(place, changed),
      () => vault.open(place, toBinary(PushConfigSchema, otherVersion)),
      () => vault.open(place, new Uint8Array([255, 1, 2])),
      () => vault.open(place, new Uint8Array()),
      () => vault.open(place, toBinary(TaskPushNotificationConfigSchema, config)),
    ];
    for (const attempt of attempts) {
      expect(attempt).toThrow("The stored configuration is damaged.");
      expect(attempt).not.toThrow(MissingKeyError);
    }
  });
});
