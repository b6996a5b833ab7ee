import { createHmac, generateKeyPairSync, sign as rawSign } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { create, fromJson, toJson } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { type AgentCard, AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import {
  type CardAlgorithm,
  type CardKey,
  CardKeyError,
  type CardTrust,
  canonicalCard,
  publicKeysOf,
  signCard,
  verifyCard,
} from "../../../src/card/index.js";
import { held } from "../../support/held.js";
import { type KeyPair, keyPair } from "./keys.js";

const card = create(AgentCardSchema, {
  name: "Signed",
  description: "Says what it is: ü €",
  version: "1.0.0",
  supportedInterfaces: [{ url: "https://agents.example", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  capabilities: { streaming: true, pushNotifications: false },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "s", name: "S", description: "Does.", tags: ["t"] }],
});

const json = (signed: AgentCard): Record<string, unknown> => toJson(AgentCardSchema, signed) as Record<string, unknown>;
const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const headerOf = (signed: AgentCard, i = 0): object =>
  JSON.parse(Buffer.from(signed.signatures[i]?.protected ?? "", "base64url").toString());

const key = keyPair();
const kid = "k1";
const trust: CardTrust = { keys: [{ ...key.publicJwk, kid }] };
const faultsOf = async (given: Parameters<typeof verifyCard>[0], by: CardTrust = trust) =>
  (await verifyCard(given, by)).signatures.map(({ fault }) => fault);

/** The card with one signature that was put together by hand. */
async function forged(header: object, make: (input: string) => Buffer = es256, unprotected?: object) {
  const head = base64url(header);
  const input = `${head}.${Buffer.from(await canonicalCard(card)).toString("base64url")}`;
  const signature = { protected: head, signature: make(input).toString("base64url"), header: unprotected };
  return { ...json(card), signatures: [signature] };
}
const es256 = (input: string): Buffer =>
  rawSign("sha256", Buffer.from(input), { key: key.privateKey, dsaEncoding: "ieee-p1363" });

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function serve(answer: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
}

describe("signCard() and verifyCard()", () => {
  const forms: Record<string, (pair: KeyPair) => [CardKey["key"], NonNullable<CardTrust["keys"]>[number]]> = {
    PEM: ({ pem, publicPem }) => [pem, publicPem],
    "bytes of PEM": ({ pem, publicPem }) => [Buffer.from(pem), publicPem],
    JWK: ({ jwk, publicJwk }) => [jwk, publicJwk],
    "JSON of a JWK": ({ jwk, publicJwk }) => [JSON.stringify(jwk), JSON.stringify(publicJwk)],
  };

  describe.each(["ES256", "RS256", "EdDSA"] as const)("with %s", (alg: CardAlgorithm) => {
    it.each(Object.entries(forms))(
      "take keys as %s [SRV-SIGN-10 SRV-SIGN-11 SRV-SIGN-12 SRV-SIGN-13]",
      async (_form, of) => {
        const pair = keyPair(alg);
        const [secret, open] = of(pair);
        const signed = await signCard(card, [{ key: secret, kid: "mine" }], { jku: "https://a.example/jwks.json" });
        expect(headerOf(signed)).toEqual({ alg, typ: "JOSE", kid: "mine", jku: "https://a.example/jwks.json" });
        expect(card.signatures).toEqual([]);
        const [signature] = signed.signatures;
        expect([signature?.protected, signature?.signature].join("")).toMatch(/^[\w-]+$/);
        const result = await verifyCard(json(signed), { keys: [open] });
        expect(result).toMatchObject({
          verified: true,
          signatures: [{ valid: true, kid: "mine", alg, trustedBy: "keys" }],
        });
        expect(await verifyCard(JSON.stringify(json(signed)), { keys: [open] })).toMatchObject({ verified: true });
        expect(await verifyCard(signed, { jwks: await publicKeysOf([{ key: secret, kid: "mine" }]) })).toMatchObject({
          verified: true,
          signatures: [{ trustedBy: "jwks" }],
        });
        expect(await faultsOf(signed, { keys: [keyPair(alg).publicPem] })).toEqual(["mismatch"]);
      },
    );
  });

  it("says what to write where a JWKS, a key or nothing is given as the list of keys", async () => {
    const { publicPem, pem } = keyPair("ES256");
    const jwks = await publicKeysOf([{ key: pem }]);
    for (const keys of [jwks, publicPem, JSON.stringify(jwks)])
      await expect(verifyCard(json(card), { keys } as unknown as CardTrust)).rejects.toThrow(
        new CardKeyError("keys is not a list of keys: give a JWKS as jwks, and a single key as [key]."),
      );
    for (const trust of [undefined, JSON.stringify(jwks)])
      await expect(verifyCard(json(card), trust as unknown as CardTrust)).rejects.toThrow(
        new CardKeyError("verifyCard needs the keys to trust: verifyCard(card, { jwks })."),
      );
    const signed = await signCard(card, [{ key: pem }]);
    expect(await verifyCard(json(signed), jwks)).toMatchObject({ verified: true });
    expect(await verifyCard(json(signed), { jwks })).toMatchObject({ verified: true });
  });

  it("names a key by its thumbprint where it has no id, and shows its public parts alone", async () => {
    const pair = keyPair("RS256");
    const { keys } = await publicKeysOf([{ key: pair.pem }]);
    expect(keys).toEqual([{ ...pair.publicJwk, alg: "RS256", use: "sig", kid: expect.stringMatching(/^[\w-]{43}$/) }]);
    expect(await publicKeysOf([{ key: { ...pair.jwk, kid: "its own", oth: [], secret: "x" } }])).toEqual({
      keys: [{ ...pair.publicJwk, alg: "RS256", use: "sig", kid: "its own" }],
    });
  });

  it("go from one key to the next with two signatures in between [SRV-SIGN-15]", async () => {
    const [old, next] = [keyPair("ES256"), keyPair("EdDSA")];
    const both = await signCard(card, [
      { key: old.pem, kid: "old" },
      { key: next.pem, kid: "new" },
    ]);
    const knows = (pair: KeyPair, id: string): CardTrust => ({ keys: [{ ...pair.publicJwk, kid: id }] });
    expect(await verifyCard(both, knows(old, "old"))).toMatchObject({
      verified: true,
      signatures: [
        { kid: "old", valid: true },
        { kid: "new", valid: false, fault: "no-key" },
      ],
    });
    expect(await verifyCard(both, knows(next, "new"))).toMatchObject({
      verified: true,
      signatures: [{ valid: false, fault: "no-key" }, { valid: true }],
    });
    const later = await signCard(card, [{ key: next.pem, kid: "new" }]);
    expect((await verifyCard(later, knows(old, "old"))).verified).toBe(false);
    const added = await signCard(later, [{ key: old.pem, kid: "old" }]);
    expect(added.signatures).toHaveLength(2);
    expect((await verifyCard(added, knows(old, "old"))).verified).toBe(true);
  });

  it.each([
    ["no card without keys", []],
    ["a public key", [{ key: key.publicPem }]],
    ["a public JWK", [{ key: key.publicJwk }]],
    ["a shared secret", [{ key: { kty: "oct", k: "AAAA" } }]],
    [
      "a curve that signs no cards",
      [{ key: generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey.export({ format: "jwk" }) }],
    ],
    ["a key of another algorithm", [{ key: key.pem, alg: "RS256" }]],
    ["short RSA", [{ key: generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey.export({ format: "jwk" }) }]],
    ["a damaged JWK", [{ key: { ...key.jwk, d: "SECRET" } }]],
    ["a damaged PEM", [{ key: "-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----" }]],
    ["JSON that is none", [{ key: '{"kty":"EC","d":"SECRET"' }]],
    ["one key twice", [{ key: key.pem }, { key: key.jwk }]],
    [
      "one kid twice",
      [
        { key: key.pem, kid },
        { key: keyPair().pem, kid },
      ],
    ],
    ["RSA in the older form", [{ key: "-----BEGIN RSA PRIVATE KEY-----\nSECRET\n-----END RSA PRIVATE KEY-----" }]],
    ["a passphrase", [{ key: "-----BEGIN ENCRYPTED PRIVATE KEY-----\nSECRET\n-----END ENCRYPTED PRIVATE KEY-----" }]],
  ])("refuse %s, and never quote a key", async (_what, keys) => {
    const error = await signCard(card, keys as CardKey[]).then(
      () => undefined,
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ name: "ConfigurationError" });
    const told = `${error.stack} ${JSON.stringify(error)} ${JSON.stringify(error.cause ?? "")}`;
    expect(told).not.toContain("SECRET");
    expect(told).not.toContain(String(key.jwk.d));
  });
});

describe("verifyCard()", () => {
  it("fails for a card that was changed anywhere", async () => {
    const signed = json(await signCard(card, [{ key: key.pem, kid }]));
    const tampered: object[] = [
      { name: "Other" },
      { supportedInterfaces: [{ url: "https://evil.example", protocolBinding: "JSONRPC", protocolVersion: "1.0" }] },
      { capabilities: { streaming: true } },
      { capabilities: { streaming: true, pushNotifications: true } },
      { documentationUrl: "" },
      { skills: [] },
      { securityRequirements: [{}] },
    ];
    expect((await verifyCard(signed, trust)).verified).toBe(true);
    for (const change of tampered) {
      const { verified, signatures } = await verifyCard({ ...signed, ...change }, trust);
      expect({ change, verified }).toEqual({ change, verified: false });
      // Some libraries leave out empty values. The fault says so if the signature matches the card without them.
      expect(["mismatch", "without-empty"]).toContain(signatures[0]?.fault);
    }
  });

  it("is not for cards without signatures", async () => {
    expect(await verifyCard(card, trust)).toMatchObject({ verified: false, signatures: [] });
    expect(await verifyCard({ ...json(card), signatures: [] }, trust)).toMatchObject({ verified: false });
  });

  it("says which members nothing vouches for, and gives the card without them", async () => {
    const signed = json(await signCard(card, [{ key: key.pem, kid }]));
    const more = { ...signed, url: "https://old.example", skills: [{ ...(signed.skills as object[])[0], price: 1 }] };
    const result = await verifyCard(more, trust);
    expect(result).toMatchObject({ verified: true, uncovered: ["skills[0].price", "url"] });
    expect(json(result.card)).toEqual(json(card));
  });

  it("takes members that the contract does not know for signed where they were signed", async () => {
    const whole = { ...json(card), later: { x: 1 } };
    const { default: canonicalize } = await import("canonicalize");
    const head = base64url({ alg: "ES256", kid });
    const input = `${head}.${Buffer.from(canonicalize(whole) ?? "").toString("base64url")}`;
    const signatures = [{ protected: head, signature: es256(input).toString("base64url") }];
    expect(await verifyCard({ ...whole, signatures }, trust)).toMatchObject({ verified: true, uncovered: [] });
    expect((await verifyCard({ ...whole, later: { x: 2 }, signatures }, trust)).verified).toBe(false);
  });

  it("accepts signatures over the card without empty values only when it is told to", async () => {
    const empty = fromJson(AgentCardSchema, {
      ...json(card),
      securityRequirements: [{ schemes: { bearer: {} } }],
    } as never);
    const signed = await signCard(empty, [{ key: key.pem, kid }], { alsoWithoutEmpty: true });
    expect(await faultsOf(signed)).toEqual([undefined, "without-empty"]);
    expect(await faultsOf(signed, { ...trust, acceptWithoutEmpty: true })).toEqual([undefined, undefined]);
    expect(await faultsOf({ ...json(signed), name: "x" }, { ...trust, acceptWithoutEmpty: true })).toEqual([
      "mismatch",
      "mismatch",
    ]);
    expect((await signCard(card, [{ key: key.pem }], { alsoWithoutEmpty: true })).signatures).toHaveLength(1);
  });

  it("needs no typ, and takes an unprotected header that says nothing of the signature [SRV-SIGN-14]", async () => {
    expect(await faultsOf(await forged({ alg: "ES256", kid }))).toEqual([undefined]);
    expect(await faultsOf(await forged({ alg: "ES256", kid }, es256, { note: "x" }))).toEqual([undefined]);
  });

  const hmac = (input: string): Buffer => createHmac("sha256", key.publicPem).update(input).digest();
  it.each([
    ["none", { alg: "none", kid }, () => Buffer.from("x"), undefined, "algorithm"],
    ["none in other letters", { alg: "NoNe", kid }, () => Buffer.from("x"), undefined, "algorithm"],
    ["HMAC with the public key for its secret", { alg: "HS256", kid }, hmac, undefined, "algorithm"],
    ["an algorithm that is no text", { alg: ["ES256"], kid }, es256, undefined, "algorithm"],
    ["a name of every object", { alg: "constructor", kid }, es256, undefined, "algorithm"],
    ["an algorithm of another kind of key", { alg: "RS256", kid }, es256, undefined, "no-key"],
    ["another curve", { alg: "ES384", kid }, es256, undefined, "no-key"],
    ["a critical extension", { alg: "ES256", kid, crit: ["x"], x: 1 }, es256, undefined, "header"],
    ["an unencoded payload", { alg: "ES256", kid, b64: false, crit: ["b64"] }, es256, undefined, "header"],
    ["an embedded key", { alg: "ES256", kid, jwk: key.publicJwk }, es256, undefined, "header"],
    ["an embedded certificate", { alg: "ES256", kid, x5c: ["AAAA"] }, es256, undefined, "header"],
    ["the URL of a certificate", { alg: "ES256", kid, x5u: "https://evil.example" }, es256, undefined, "header"],
    ["an unprotected algorithm", { kid }, es256, { alg: "ES256" }, "header"],
    ["an unprotected id", { alg: "ES256" }, es256, { kid }, "header"],
    ["a header twice", { alg: "ES256", kid, note: 1 }, es256, { note: 1 }, "header"],
    ["no id", { alg: "ES256" }, es256, undefined, "malformed"],
    ["another id", { alg: "ES256", kid: "k2" }, es256, undefined, "no-key"],
    ["a signature by nobody", { alg: "ES256", kid }, () => Buffer.alloc(64), undefined, "mismatch"],
    [
      "a signature in DER",
      { alg: "ES256", kid },
      (input: string) => rawSign("sha256", Buffer.from(input), key.privateKey),
      undefined,
      "mismatch",
    ],
  ])("refuses %s", async (_what, header, make, unprotected, fault) => {
    const result = await verifyCard(await forged(header, make, unprotected), trust);
    expect(result).toMatchObject({
      verified: false,
      signatures: [{ valid: false, fault, why: expect.stringMatching(/./) }],
    });
  });

  it.each([
    ["no object", "x"],
    ["nothing in it", {}],
    ["a header that is no base64url", { protected: "{}", signature: "AAAA" }],
    ["a header that is no JSON", { protected: "AAAA", signature: "AAAA" }],
    [
      "a header with a member twice",
      { protected: Buffer.from('{"alg":"ES256","kid":"k1","kid":"k2"}').toString("base64url"), signature: "AA" },
    ],
    ["a header of a megabyte", { protected: "A".repeat(2 ** 20), signature: "AA" }],
  ])("refuses a signature with %s", async (_what, signature) => {
    const given = { ...json(card), signatures: [signature] };
    const result = await verifyCard(given, trust);
    expect(result).toMatchObject({ verified: false, signatures: [{ fault: "malformed" }] });
  });

  it("does not look at signatures without end", async () => {
    const [signature] = json(await signCard(card, [{ key: key.pem, kid }])).signatures as object[];
    const given = { ...json(card), signatures: Array.from({ length: 33 }, () => signature) };
    await expect(verifyCard(given, trust)).rejects.toMatchObject({ name: "CardFormError" });
  });

  it.each([
    ["has expired", { exp: 1 }],
    ["is not valid yet", { nbf: 4_000_000_000 }],
    ["was revoked", { revoked: { revoked_at: 1 } }],
  ])("uses no key that %s", async (_what, more) => {
    const signed = await signCard(card, [{ key: key.pem, kid }]);
    expect(await faultsOf(signed, { jwks: { keys: [{ ...key.publicJwk, kid, ...more }] } })).toEqual(["key-over"]);
  });

  it("uses no key that is for something else", async () => {
    const signed = await signCard(card, [{ key: key.pem, kid }]);
    for (const more of [{ use: "enc" }, { key_ops: ["encrypt"] }, { alg: "ES512" }]) {
      expect(await faultsOf(signed, { jwks: { keys: [{ ...key.publicJwk, kid, ...more }] } })).toEqual(["no-key"]);
    }
  });

  it.each([
    ["a secret", { kty: "oct", k: "AAAA" }],
    ["a private key", key.jwk],
    ["a private key in PEM", key.pem],
    ["a text", "no key"],
  ])("refuses to trust %s", async (_what, given) => {
    const verified = verifyCard(card, { keys: [given] });
    await expect(verified).rejects.toMatchObject({ name: "CardKeyError" });
    await expect(verified).rejects.not.toThrow(String(key.jwk.d));
  });
});

describe("the jku of a signature", () => {
  it("is fetched when it is trusted, once, and never otherwise", async () => {
    let asked = 0;
    const url = await serve(async (_request, response) => {
      asked++;
      response.end(JSON.stringify(await publicKeysOf([{ key: key.pem, kid }])));
    });
    const signed = await signCard(card, [{ key: key.pem, kid }], { jku: url });
    expect(await faultsOf(signed, {})).toEqual(["no-key"]);
    expect(await faultsOf(signed, { jku: ["https://agents.example/jwks.json"] })).toEqual(["no-key"]);
    expect(await faultsOf(signed, { jku: [`${url}?`] })).toEqual(["no-key"]);
    expect(asked).toBe(0);
    const twice = await signCard(signed, [{ key: key.pem, kid }], { jku: url });
    const { verified, signatures } = await verifyCard(twice, { jku: [url] });
    expect([verified, signatures.map(({ trustedBy }) => trustedBy), asked]).toEqual([true, [url, url], 1]);
    // A trusted key is used without a request to its `jku`.
    expect(await faultsOf(signed, { ...trust, jku: [url] })).toEqual([undefined]);
    expect(asked).toBe(1);
  });

  it.each([
    ["leads elsewhere", (url: string) => ({ status: 302, headers: { location: url }, body: "" }), "302"],
    ["is not there", () => ({ status: 404, headers: {}, body: "" }), "404"],
    ["is no JWKS", () => ({ status: 200, headers: {}, body: "{}" }), "not a JWKS"],
    ["has no end", () => ({ status: 200, headers: {}, body: "x".repeat(5_000) }), "more than 4096 bytes"],
  ])("that %s proves nothing", async (_what, answer, why) => {
    const url = await serve((request, response) => {
      const { status, headers, body } = answer(`http://${request.headers.host}/elsewhere`);
      response.writeHead(status, headers as Record<string, string>).end(body);
    });
    const signed = await signCard(card, [{ key: key.pem, kid }], { jku: url });
    const { signatures } = await verifyCard(signed, { jku: [url], maxBytes: 4_096 });
    expect(signatures).toMatchObject([{ fault: "jku", why: expect.stringContaining(why) }]);
  });

  it("costs no more than its size in pieces of one byte", async () => {
    const bytes = 128 * 1024;
    const signed = await signCard(card, [{ key: key.pem, kid }], { jku: "https://a.example/keys" });
    const before = held();
    let grown = Number.NaN;
    const pieces = async function* (): AsyncGenerator<Uint8Array<ArrayBuffer>> {
      for (let i = 0; i < bytes; i++) yield Uint8Array.of(0x20);
      grown = held() - before;
    };
    const fetch = async () => new Response(ReadableStream.from(pieces()) as ReadableStream<Uint8Array<ArrayBuffer>>);
    const { signatures } = await verifyCard(signed, { jku: ["https://a.example/keys"], fetch });
    expect(signatures).toMatchObject([{ fault: "jku" }]);
    expect(grown).toBeLessThan(64 * bytes);
  });

  it("that never answers is given up", async () => {
    const url = await serve(() => {});
    const signed = await signCard(card, [{ key: key.pem, kid }], { jku: url });
    const { signatures } = await verifyCard(signed, { jku: [url], timeoutMs: 50 });
    expect(signatures).toMatchObject([{ fault: "jku", why: expect.stringContaining("within 50 ms") }]);
  });

  it.each(["http://agents.example/jwks.json", "https://user@agents.example/", "file:///etc/passwd", "jwks.json"])(
    "cannot be trusted as %s",
    async (url) => {
      await expect(verifyCard(card, { jku: [url] })).rejects.toMatchObject({ name: "CardKeyError" });
    },
  );
});
