import { createHash, createPublicKey, hkdfSync, verify } from "node:crypto";
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from "jose";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { PushSigningOptions } from "../../../src/push/options.js";
import { pushSigningFaults } from "../../../src/push/signature/faults.js";
import { createPushSigner, pushSignature, type SignedEvent } from "../../../src/push/signature/signer.js";
import { keyPair } from "../../card/signing/keys.js";
import { setConstants } from "../../support/constants.js";
import { newSecret, newWebhookKeys } from "./keys.js";

const issuer = "https://agents.example";
const event = (more: Partial<SignedEvent> = {}): SignedEvent => ({
  id: "evt_1",
  taskId: "task-1",
  configId: "config-1",
  generation: 3,
  time: Date.now(),
  url: "https://hooks.example:8443/a2a/in?secret=1",
  body: '{"statusUpdate":{"taskId":"task-1"}}',
  token: "the token",
  ...more,
});
const signerOf = (signing?: PushSigningOptions) => createPushSigner({ signing, issuer: () => issuer });
const headersOf = async (signing?: PushSigningOptions, more?: Partial<SignedEvent>) =>
  (await signerOf(signing)).headers(event(more));

describe("createPushSigner() without keys", () => {
  it("says the event's id and the time, and signs nothing", async () => {
    expect(await headersOf(undefined, { time: 1_700_000_000_999 })).toEqual({
      "webhook-id": "evt_1",
      "webhook-timestamp": "1700000000",
      "Parley-Config": "config-1",
    });
    expect((await signerOf()).jwks()).toEqual({ keys: [] });
  });
});

describe("the generated key of bearer tokens", () => {
  it("is generated again after it could not be", async () => {
    const generate = vi.spyOn(crypto.subtle, "generateKey").mockRejectedValueOnce(new Error("not now"));
    onTestFinished(() => generate.mockRestore());
    const signer = await createPushSigner({ issuer: () => issuer, makesKey: true });
    await expect(signer.allKeys()).rejects.toThrow("not now");
    const { keys } = await signer.allKeys();
    expect(keys).toHaveLength(1);
    expect(await signer.allKeys()).toEqual({ keys });
    expect(generate).toHaveBeenCalledTimes(2);
  });
});

describe("the JWT of a notification", () => {
  it.each(["ES256", "EdDSA", "RS256"] as const)(
    "by %s verifies with jose and the keys that are published",
    async (alg) => {
      const key = keyPair(alg);
      const signer = await signerOf({ keys: [{ key: key.pem, kid: "k1" }] });
      const { body } = event();
      const time = Date.now();
      const token = (await signer.headers(event({ time })))["Parley-Signature"] ?? "";
      const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(signer.jwks() as JSONWebKeySet), {
        issuer,
        audience: "https://hooks.example:8443/a2a/in",
        typ: "a2a-push+jwt",
        algorithms: [alg],
      });
      expect(protectedHeader).toEqual({ alg, typ: "a2a-push+jwt", kid: "k1" });
      const iat = Math.floor(time / 1_000);
      expect(payload).toEqual({
        iss: issuer,
        aud: "https://hooks.example:8443/a2a/in",
        iat,
        exp: iat + 300,
        jti: "evt_1",
        task: "task-1",
        config: "config-1",
        generation: 3,
        digest: createHash("sha256").update(body).digest("base64url"),
      });
      expect(signer.jwks()).toEqual({ keys: [{ ...key.publicJwk, kid: "k1", alg, use: "sig" }] });
    },
  );

  it("is signed by the first key, and all keys are published", async () => {
    const [old, next] = [keyPair("ES256"), keyPair("EdDSA")];
    const signer = await signerOf({
      keys: [
        { key: next.jwk, kid: "new" },
        { key: old.pem, kid: "old" },
      ],
    });
    const headers = await signer.headers(event());
    expect(decodeProtectedHeader(headers["Parley-Signature"] ?? "")).toMatchObject({ kid: "new", alg: "EdDSA" });
    expect(signer.jwks().keys).toMatchObject([{ kid: "new" }, { kid: "old" }]);
    expect(JSON.stringify(signer.jwks())).not.toContain('"d"');
  });

  it("is of bytes as they are sent, and needs no promise but for RSA", async () => {
    const body = Buffer.from("ünïcode");
    for (const [alg, waits] of [
      ["ES256", false],
      ["EdDSA", false],
      ["RS256", true],
    ] as const) {
      const signer = await signerOf({ keys: [{ key: keyPair(alg).pem }] });
      const headers = signer.headers(event({ body }));
      expect(headers instanceof Promise).toBe(waits);
      const keys = createLocalJWKSet(signer.jwks() as JSONWebKeySet);
      const { payload } = await jwtVerify((await headers)["Parley-Signature"] ?? "", keys);
      expect(payload.digest).toBe(createHash("sha256").update("ünïcode").digest("base64url"));
    }
  });

  it("ends when the limit says, in whole seconds", async () => {
    const key = keyPair("EdDSA");
    setConstants(pushSignature, { lifetimeMs: 1_500 });
    const signer = await createPushSigner({ signing: { keys: [{ key: key.pem }] }, issuer: () => issuer });
    const token = (await signer.headers(event({ time: 5_999 })))["Parley-Signature"] ?? "";
    const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    expect(claims).toMatchObject({ iat: 5, exp: 7 });
  });
});

describe("the signatures of Standard Webhooks", () => {
  it("by a secret of the server verify with the library of the standard", async () => {
    const secret = newSecret();
    const headers = await headersOf({ webhookSecrets: [secret], secretPer: "server" }, { body: '{"text":"ünïcode"}' });
    expect(new Webhook(secret).verify('{"text":"ünïcode"}', headers)).toEqual({ text: "ünïcode" });
    expect(() => new Webhook(newSecret()).verify('{"text":"ünïcode"}', headers)).toThrow("No matching signature");
  });

  it("by a secret per token verify with what is derived of it alone", async () => {
    const secret = newSecret();
    const { body } = event();
    const headers = await headersOf({ webhookSecrets: [secret] });
    const bytes = Buffer.from(secret.slice(6), "base64");
    const derive = (token: string) =>
      Buffer.from(hkdfSync("sha256", bytes, "", `parley push secret\0${token}`, 32)).toString("base64");
    expect(new Webhook(derive("the token")).verify(body as string, headers)).toMatchObject({ statusUpdate: {} });
    for (const other of [derive("another token"), secret]) {
      expect(() => new Webhook(other).verify(body as string, headers)).toThrow("No matching signature");
    }
    expect(await headersOf({ webhookSecrets: [secret] }, { token: "" })).not.toHaveProperty("webhook-signature");
  });

  it("are one for each secret and key, so that one can be changed", async () => {
    const [old, next] = [newSecret(24), newSecret(64)];
    const headers = await headersOf({
      webhookSecrets: [next, old, newWebhookKeys().whsk],
      secretPer: "server",
    });
    for (const secret of [old, next]) new Webhook(secret).verify(event().body as string, headers);
    expect(headers["webhook-signature"]).toMatch(/^v1,\S{44} v1,\S{44} v1a,\S{88}$/);
  });

  it("by Ed25519 are those of the standard's own example", async () => {
    const whsk = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
    const given = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", time: 1_614_265_330_000, body: '{"test": 2432232314}' };
    expect(await headersOf({ webhookSecrets: [whsk] }, given)).toMatchObject({
      "webhook-signature":
        "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==",
    });
  });

  it("by Ed25519 verify with the public key, whichever form the private one has", async () => {
    const { whsk, short, whpk } = newWebhookKeys();
    const x = Buffer.from(whpk.slice(5), "base64").toString("base64url");
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    for (const form of [whsk, short]) {
      const headers = await headersOf({ webhookSecrets: [form] });
      const signed = Buffer.from(`evt_1.${headers["webhook-timestamp"]}.${event().body}`);
      const signature = Buffer.from(headers["webhook-signature"]?.slice(4) ?? "", "base64");
      expect(verify(null, signed, key, signature)).toBe(true);
    }
  });
});

const publicOf = ({ jwk: { x, y } }: { jwk: Record<string, unknown> }) => ({ x, y });

describe("the keys of a signer", () => {
  const pem = keyPair().pem;
  const whsk = newWebhookKeys().whsk;
  it.each<[string, unknown, string]>([
    ["no object", true, "push.signing is a value of type boolean, not an object of options"],
    ["an unknown name", { webhookSecret: "x" }, "did you mean webhookSecrets?"],
    ["no keys", { keys: [] }, "push.signing.keys is empty"],
    ["a public key", { keys: [{ key: keyPair().publicPem }] }, "push.signing.keys[0].key is a public key"],
    ["a secret as a key", { keys: [{ key: { kty: "oct", k: "c2VjcmV0" } }] }, "push.signing.keys[0].key is a shared"],
    ["a text", { webhookSecrets: ["whsec_not base64!"] }, "webhookSecrets[0] must be whsec_"],
    ["a short secret", { webhookSecrets: [newSecret(23)] }, "push.signing.webhookSecrets[0] must have 24 to 64 bytes"],
    ["a long secret", { webhookSecrets: [newSecret(65)] }, "push.signing.webhookSecrets[0] must have 24 to 64 bytes"],
    [
      "a secret twice",
      { webhookSecrets: [`whsec_${"a".repeat(32)}`, `whsec_${"a".repeat(32)}`] },
      "webhookSecrets has one secret twice",
    ],
    [
      "nine secrets",
      { webhookSecrets: Array.from({ length: 9 }, () => newSecret()) },
      "webhookSecrets has more than 8 secrets",
    ],
    [
      "a public webhook key",
      { webhookSecrets: [newWebhookKeys().whpk] },
      "webhookSecrets[0] is neither whsec_ nor whsk_",
    ],
    ["half a webhook key", { webhookSecrets: [`whsk_${"a".repeat(40)}`] }, "webhookSecrets[0] has neither 32 nor 64"],
    [
      "whose secrets",
      { webhookSecrets: [newSecret()], secretPer: "task" },
      'push.signing.secretPer is "task", not "token" or "server"',
    ],
    ["whether a JWKS", { keys: [{ key: pem }], jwks: "yes" }, 'push.signing.jwks is "yes", not true or false'],
  ])("have faults that are named: %s", (_name, given, fault) => {
    expect(pushSigningFaults("push.signing", given)).toEqual([expect.stringContaining(fault)]);
  });

  it("have none where all is well", () => {
    const given = {
      keys: [{ key: pem }],
      webhookSecrets: [newSecret(), whsk],
      secretPer: "server",
      jwks: false,
    };
    expect(pushSigningFaults("push.signing", given)).toEqual([]);
  });

  it("are refused, without a word of what is in them", async () => {
    const mixed = Buffer.from(whsk.slice(5), "base64");
    mixed.set(Buffer.from(newWebhookKeys().whsk.slice(5), "base64").subarray(32), 32);
    const damaged = { ...keyPair("EdDSA").jwk, d: "AAAA" };
    const key = keyPair("EdDSA").jwk;
    const cases: [PushSigningOptions, string][] = [
      [{ webhookSecrets: [`whsk_${mixed.toString("base64")}`] }, "does not belong to its private one"],
      [{ keys: [{ key: damaged }] }, "push.signing.keys[0].key cannot be used: it is damaged"],
      [{ keys: [{ key: { ...key, x: keyPair("EdDSA").jwk.x } }] }, "push.signing.keys[0].key cannot be used"],
      [{ keys: [{ key: { ...keyPair().jwk, ...publicOf(keyPair()) } }] }, "push.signing.keys[0].key cannot be used"],
      [{ keys: [{ key }, { key }] }, "has one key twice"],
      [{ keys: [{ key: keyPair("EdDSA").jwk, alg: "ES256" }] }, "push.signing.keys[0].key is not a key for ES256"],
    ];
    for (const [signing, fault] of cases) {
      const error = await signerOf(signing).catch((thrown) => thrown as Error);
      expect(error).toMatchObject({ name: "ConfigurationError", message: expect.stringContaining(fault) });
      for (const secret of [mixed.toString("base64"), String(key.d)]) expect(String(error)).not.toContain(secret);
    }
  });
});
