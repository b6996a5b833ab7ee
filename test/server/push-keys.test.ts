import { afterEach, describe, expect, it } from "vitest";
import { type Agent, completed, createA2A, createServer, type ServerOptions } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { keyPair } from "../card/signing/keys.js";
import { newSecret } from "../push/signature/keys.js";

const agent: Agent = {
  card: { name: "Pushes", description: "Makes tasks.", version: "1.0.0" },
  async *execute() {
    yield completed();
  },
};

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function keysOf(options: Partial<ServerOptions>) {
  const server = await createServer({ agent, store: memoryStore(), port: 0, grpcPort: false, ...options });
  closing.push(() => server.close({ graceMs: 0 }));
  const answer = await fetch(`${server.url}/.well-known/jwks.json`);
  return answer.status === 200 ? ((await answer.json()) as { keys: object[] }).keys : answer.status;
}

const [forCards, forPush, old] = [keyPair("ES256"), keyPair("EdDSA"), keyPair("RS256")];
const cardSigning = { keys: [{ key: forCards.pem, kid: "card" }] };
const signing = {
  keys: [
    { key: forPush.pem, kid: "push" },
    { key: old.pem, kid: "push-old" },
  ],
};
const shown = {
  card: { ...forCards.publicJwk, kid: "card", alg: "ES256", use: "sig" },
  push: { ...forPush.publicJwk, kid: "push", alg: "EdDSA", use: "sig" },
  old: { ...old.publicJwk, kid: "push-old", alg: "RS256", use: "sig" },
};

describe("/.well-known/jwks.json of a server that signs notifications", () => {
  it("has all of their public keys, beside those of the cards", async () => {
    expect(await keysOf({ push: { signing } })).toEqual([shown.push, shown.old]);
    expect(await keysOf({ push: { signing }, cardSigning })).toEqual([shown.card, shown.push, shown.old]);
  });

  it("has none that it is not to show", async () => {
    const versions = ["1.0", "0.3"];
    expect(await keysOf({ push: true, versions })).toBe(404);
    expect(await keysOf({ push: { signing: { jwks: false } } })).toBe(404);
    expect(await keysOf({ push: { signing: { webhookSecrets: [newSecret()] } }, versions })).toBe(404);
    expect(await keysOf({ push: { signing: { ...signing, jwks: false } } })).toBe(404);
    expect(await keysOf({ push: { signing: { ...signing, jwks: false } }, cardSigning })).toEqual([shown.card]);
    expect(await keysOf({ push: { signing }, cardSigning: { ...cardSigning, jwks: false } })).toEqual([
      shown.push,
      shown.old,
    ]);
  });

  it("has an RSA key of the process for callers of 0.1, where the options have none", async () => {
    const made = {
      kty: "RSA",
      alg: "RS256",
      use: "sig",
      kid: expect.stringMatching(/^[\w-]{43}$/),
      n: expect.anything(),
      e: "AQAB",
    };
    expect(await keysOf({ push: true })).toEqual([made]);
    const other = { keys: [{ key: forPush.pem, kid: "push" }] };
    expect(await keysOf({ push: { signing: other } })).toEqual([shown.push, made]);
  });

  it("is the host's where a server is mounted, unless the option says otherwise", async () => {
    for (const jwks of [undefined, true]) {
      const push = { signing: jwks === undefined ? {} : { jwks } };
      const a2a = createA2A({ agent, store: memoryStore(), push });
      closing.push(() => a2a.close({ graceMs: 0 }));
      const { status } = await a2a.fetch(new Request("http://localhost/.well-known/jwks.json"));
      expect(status).toBe(jwks === true ? 200 : 404);
    }
  });

  it("has one key once, and no two keys by one name", async () => {
    const both = { keys: [{ key: forCards.pem, kid: "card" }] };
    expect(await keysOf({ push: { signing: both }, cardSigning, versions: ["1.0"] })).toEqual([shown.card]);
    const clash = { keys: [{ key: forPush.pem, kid: "card" }] };
    await expect(keysOf({ push: { signing: clash }, cardSigning })).rejects.toThrow('the kid "card" for two');
  });
});

describe("a server whose keys for notifications cannot be used", () => {
  it("does not start", async () => {
    const damaged = { ...forPush.jwk, d: "AAAA" };
    await expect(keysOf({ push: { signing: { keys: [{ key: damaged }] } } })).rejects.toThrow("it is damaged");
  });

  it("is not made: without a name of its own receivers cannot tell who notifies them", () => {
    const make = (more: object) => createA2A({ agent, store: memoryStore(), push: { signing }, ...more });
    expect(() => make({})).toThrow("push.signing.keys needs publicUrl");
    expect(() => make({ publicUrl: "https://agents.example" })).not.toThrow();
  });
});

describe("a server that others reach and that signs nothing", () => {
  it("says so", async () => {
    const warned = async (push: ServerOptions["push"]): Promise<string> => {
      const said: string[] = [];
      const say = (_facts: object, message: string): unknown => said.push(message);
      const logger = { debug() {}, info() {}, warn: say, error: say } as NonNullable<ServerOptions["logger"]>;
      await keysOf({ host: "0.0.0.0", logger, ...(push !== undefined && { push }) });
      return said.join("\n");
    };
    expect(await warned(true)).toContain("push notifications are not signed");
    for (const push of [undefined, { signing }]) expect(await warned(push)).not.toContain("not signed");
  });
});
