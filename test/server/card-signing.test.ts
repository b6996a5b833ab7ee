import { toJson } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it } from "vitest";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type CardTrust, verifyCard } from "../../src/card/index.js";
import type { CardSigning } from "../../src/card/signing/kept-signatures.js";
import { signedCards } from "../../src/card/signing/kept-signatures.js";
import { createFetchA2A } from "../../src/fetch.js";
import { type Agent, createA2A, createServer, type Logger, reply, type ServerOptions } from "../../src/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { keyPair } from "../card/signing/keys.js";
import { setConstants } from "../support/constants.js";

const bearer = { schemes: { bearer: {} } };
const agent = (name = "Signed", card: object = {}): Agent => ({
  card: { name, description: "Is signed.", version: "1.0.0", ...card },
  responds: "message",
  async *execute({ text }) {
    yield reply(text);
  },
});
const authenticator: ServerOptions["authenticator"] = {
  authenticate: (call) => ({
    owner: call.header("x-user") ?? "nobody",
    authenticated: call.header("x-user") !== undefined,
  }),
};

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const key = keyPair();
const trust: CardTrust = { keys: [{ ...key.publicJwk, kid: "k1" }] };
const signing: CardSigning = { keys: [{ key: key.pem, kid: "k1" }] };

async function serve(options: Partial<ServerOptions> = {}) {
  const server = await createServer({
    ...(options.agents === undefined && { agent: agent() }),
    store: memoryStore(),
    port: 0,
    grpcPort: 0,
    cardSigning: signing,
    ...options,
  } as ServerOptions);
  closing.push(() => server.close({ graceMs: 0 }));
  const get = (path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Response> =>
    fetch(server.url + path, { headers, method });
  return { server, get };
}

const CARD = "/.well-known/agent-card.json";
const JWKS = "/.well-known/jwks.json";
const etagOf = (answer: Response): string => answer.headers.get("etag") ?? "";

function records(): { logger: Logger; text: () => string } {
  const lines: string[] = [];
  const add = (facts: object, message: string): void => {
    const error = (facts as { err?: Error }).err;
    lines.push(message, JSON.stringify(facts), error?.stack ?? "");
  };
  return { logger: { debug: add, info: add, warn: add, error: add }, text: () => lines.join("\n") };
}

describe("createServer() with cardSigning", () => {
  it("serves a card that verifies, the same to everybody until it changes [SRV-CARD-22]", async () => {
    const { server, get } = await serve();
    const answers = await Promise.all(Array.from({ length: 10 }, () => get(CARD)));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(new Set(texts).size).toBe(1);
    expect(new Set(answers.map(etagOf)).size).toBe(1);
    const result = await verifyCard(texts[0] ?? "", trust);
    // One over all of it, and one over its members of 1.0.
    const both = [
      { kid: "k1", valid: true },
      { kid: "k1", valid: true },
    ];
    expect(result).toMatchObject({ verified: true, uncovered: [], signatures: both });
    // A program gets its own card, without members of other versions.
    const given = JSON.stringify(toJson(AgentCardSchema, server.card));
    expect(await verifyCard(given, trust)).toMatchObject({ verified: true, uncovered: [] });
  });

  it("answers 304 to readers that have it, and HEAD without a body", async () => {
    const { get } = await serve();
    const first = await get(CARD);
    const seen = await get(CARD, { "if-none-match": etagOf(first) });
    expect([seen.status, await seen.text(), etagOf(seen)]).toEqual([304, "", etagOf(first)]);
    const dated = await get(CARD, { "if-modified-since": first.headers.get("last-modified") ?? "" });
    expect(dated.status).toBe(304);
    expect((await get(CARD, { "if-none-match": '"other"' })).status).toBe(200);
    const head = await get(CARD, {}, "HEAD");
    expect([head.status, etagOf(head), await head.text()]).toEqual([200, etagOf(first), ""]);
    expect((await get(CARD, {}, "POST")).status).toBe(405);
    expect(first.headers.get("cache-control")).toBe("public, max-age=300");
  });

  it("serves the public keys, and nothing else of them", async () => {
    const { get } = await serve({ cors: ["https://app.example"] });
    const answer = await get(JWKS, { origin: "https://app.example" });
    expect(answer.headers.get("content-type")).toBe("application/jwk-set+json");
    expect(answer.headers.get("cache-control")).toBe("public, max-age=300");
    expect(answer.headers.get("access-control-allow-origin")).toBe("https://app.example");
    const keys = (await answer.json()) as { keys: object[] };
    expect(keys).toEqual({ keys: [{ ...key.publicJwk, kid: "k1", alg: "ES256", use: "sig" }] });
    expect((await get(JWKS, { "if-none-match": etagOf(answer) })).status).toBe(304);
    expect(await verifyCard(await (await get(CARD)).text(), { jwks: keys })).toMatchObject({ verified: true });
    expect((await get(JWKS, {}, "POST")).status).toBe(405);
  });

  it("names its keys where they can be had by TLS, and does not serve them where it should not", async () => {
    const headerOf = async (get: (path: string) => Promise<Response>): Promise<object> => {
      const { signatures } = (await (await get(CARD)).json()) as { signatures: { protected: string }[] };
      return JSON.parse(Buffer.from(signatures[0]?.protected ?? "", "base64url").toString());
    };
    const header = { alg: "ES256", typ: "JOSE", kid: "k1" };
    expect(await headerOf((await serve()).get)).toEqual(header);
    const publicUrl = "https://agents.example/here";
    const named = { ...header, jku: "https://agents.example/here/.well-known/jwks.json" };
    expect(await headerOf((await serve({ publicUrl })).get)).toEqual(named);
    const elsewhere = { ...signing, jku: "https://keys.example/jwks.json" };
    expect(await headerOf((await serve({ publicUrl, cardSigning: elsewhere })).get)).toEqual({
      ...header,
      jku: "https://keys.example/jwks.json",
    });
    expect(await headerOf((await serve({ publicUrl, cardSigning: { ...signing, jku: false } })).get)).toEqual(header);
    const { get } = await serve({ publicUrl, cardSigning: { ...signing, jwks: false } });
    expect([await headerOf(get), (await get(JWKS)).status]).toEqual([header, 404]);
    expect((await (await serve({ cardSigning: undefined as never })).get(JWKS)).status).toBe(404);
  });

  it("signs the cards of all agents by all keys, over every address that they name", async () => {
    const other = keyPair("EdDSA");
    const cardSigning = { keys: [...signing.keys, { key: other.jwk, kid: "k2" }] };
    const { get } = await serve({ agents: { sales: agent("Sales"), support: agent("Support") }, cardSigning });
    for (const path of [CARD, `/sales${CARD}`, `/support${CARD}`]) {
      const text = await (await get(path)).text();
      // By each key one for readers of 1.0 and 0.3, and one for those of 1.0 alone.
      const both = [{ kid: "k1" }, { kid: "k2", fault: "no-key" }];
      const signatures = [...both, ...both];
      expect(await verifyCard(text, trust)).toMatchObject({ verified: true, signatures });
      expect(await verifyCard(text, { keys: [other.publicPem] })).toMatchObject({ verified: true });
      const moved = text.replaceAll("http://127.0.0.1", "http://evil.example");
      expect(await verifyCard(moved, trust)).toMatchObject({ verified: false });
    }
  });

  it("signs extended cards for each caller, over every binding alike", async () => {
    const extended: Agent = {
      ...agent(),
      extendedCard: ({ owner }) => ({ name: `For ${owner}`, description: "More.", version: "1.0.0" }),
    };
    const { get, server } = await serve({ agent: extended, authenticator });
    const cards: string[] = [];
    for (const user of ["ann", "bob", "ann"]) {
      const text = await (await get("/extendedAgentCard", { "x-user": user })).text();
      expect(await verifyCard(text, trust)).toMatchObject({ verified: true, card: { name: `For ${user}` } });
      cards.push(text);
    }
    // Signed once: ES256 gives another signature each time.
    expect(cards[0]).toBe(cards[2]);
    const rpc = await fetch(server.url, {
      method: "POST",
      headers: { "content-type": "application/json", "x-user": "ann" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "GetExtendedAgentCard" }),
    });
    expect(((await rpc.json()) as { result: object }).result).toEqual(JSON.parse(cards[0] ?? ""));
  });

  it("keeps no more signatures than it may", async () => {
    const extended: Agent = {
      ...agent(),
      extendedCard: ({ owner }) => ({ name: `For ${owner}`, description: "More.", version: "1.0.0" }),
    };
    setConstants(signedCards, { max: 2 });
    const { get } = await serve({ agent: extended, authenticator });
    const ask = async (user: string): Promise<string> => (await get("/extendedAgentCard", { "x-user": user })).text();
    const [ann] = [await ask("ann"), await ask("bob")];
    // Asked for again, it is the newest of them.
    expect(await ask("ann")).toBe(ann);
    await ask("eve");
    expect(await ask("ann")).toBe(ann);
    for (const user of ["bob", "eve"]) await ask(user);
    expect(await ask("ann")).not.toBe(ann);
  });

  it.each([
    ["no keys", { keys: [] }, "cardSigning.keys is empty"],
    ["a typo", { keys: [{ key: key.pem, kidd: "x" }] }, "cardSigning.keys[0].kidd is not known: did you mean kid?"],
    ["a jku in the clear", { ...signing, jku: "http://keys.example" }, "cardSigning.jku is not an https URL"],
    ["a key of no use", { keys: [{ key: { ...key.jwk, d: "SECRET" } }] }, "cardSigning.keys[0].key cannot be used"],
    ["another algorithm", { keys: [{ key: key.pem, alg: "RS256" }] }, "cardSigning.keys[0].key is not a key for RS256"],
  ])("refuses %s at the start, in a sentence that names no secret", async (_what, cardSigning, sentence) => {
    const { logger, text } = records();
    const error = await serve({ cardSigning: cardSigning as CardSigning, logger }).then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error).toMatchObject({ name: "ConfigurationError", message: expect.stringContaining(sentence) });
    const told = `${error?.stack}${text()}`;
    expect([told.includes("SECRET"), told.includes(String(key.jwk.d))]).toEqual([false, false]);
  });

  it("refuses to sign whatever address a caller thinks of", async () => {
    const needs = { name: "ConfigurationError", message: expect.stringContaining("cardSigning needs publicUrl") };
    await expect(serve({ trustProxy: true })).rejects.toMatchObject(needs);
    const options = { agent: agent(), store: memoryStore(), cardSigning: signing };
    expect(() => createA2A(options)).toThrow(expect.objectContaining(needs));
    const { get } = await serve({ trustProxy: true, publicUrl: "https://agents.example" });
    const text = await (await get(CARD, { "x-forwarded-host": "evil.example" })).text();
    expect([text.includes("evil"), (await verifyCard(text, trust)).verified]).toEqual([false, true]);
  });

  it("says where a card has empty values, and signs it without them too where it is told to", async () => {
    const secured = agent("Secured", {
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
      securityRequirements: [bearer],
    });
    const { logger, text } = records();
    const plain = await serve({ agent: secured, authenticator, logger });
    expect(text()).toContain("the card of Secured has empty values");
    const of10 = { "a2a-version": "1.0" };
    expect(await verifyCard(await (await plain.get(CARD, of10)).text(), trust)).toMatchObject({
      signatures: [{ valid: true }],
    });
    const quiet = records();
    const both = await serve({
      agent: secured,
      authenticator,
      logger: quiet.logger,
      cardSigning: { ...signing, alsoWithoutEmpty: true },
    });
    expect(quiet.text()).not.toContain("empty values");
    const signatures = [{ valid: true }, { valid: false, fault: "without-empty" }];
    expect(await verifyCard(await (await both.get(CARD, of10)).text(), trust)).toMatchObject({
      verified: true,
      signatures,
    });
  });
});

describe("createA2A() with cardSigning", () => {
  const options = { agent: agent(), store: memoryStore(), cardSigning: signing, publicUrl: "https://agents.example" };

  it.each([
    ["in Node.js", createA2A],
    ["of the Fetch API alone", createFetchA2A],
  ])("%s serves signed cards, and gives them once it has started", async (_where, make) => {
    const a2a = make({ ...options, store: memoryStore() });
    closing.push(() => a2a.close({ graceMs: 0 }));
    expect(a2a.card().signatures).toEqual([]);
    const get = (path: string): Promise<Response> => a2a.fetch(new Request(`https://any.example${path}`));
    // Before the start: the card waits for nothing.
    const text = await (await get(CARD)).text();
    expect(await verifyCard(text, { jwks: await (await get(JWKS)).text() })).toMatchObject({ verified: true });
    await a2a.start();
    const given = JSON.stringify(toJson(AgentCardSchema, a2a.card()));
    expect(await verifyCard(given, { jwks: await (await get(JWKS)).text() })).toMatchObject({ verified: true });
  });

  it("cannot start with a key that is none, and says so in the log where a card is asked for", async () => {
    const { logger, text } = records();
    const a2a = createA2A({
      ...options,
      logger,
      store: memoryStore(),
      cardSigning: { keys: [{ key: { ...key.jwk, d: "SECRET" } }] },
    });
    closing.push(() => a2a.close({ graceMs: 0 }).catch(() => {}));
    const headers = { "x-request-id": "r-card" };
    expect((await a2a.fetch(new Request(`https://any.example${CARD}`, { headers }))).status).toBe(500);
    expect((await a2a.fetch(new Request(`https://any.example${CARD}`, { method: "POST" }))).status).toBe(405);
    expect(text()).toMatch(/cards cannot be signed\n.*"requestId":"r-card"/);
    expect(text()).not.toContain("SECRET");
    await expect(a2a.start()).rejects.toMatchObject({ name: "ConfigurationError" });
  });
});
