import { afterEach, describe, expect, it } from "vitest";
import { apiKeyScheme } from "../../src/auth/index.js";
import { cardText } from "../../src/card/documents.js";
import { type CardVerification, verifyCard } from "../../src/card/index.js";
import { type Agent, completed } from "../../src/index.js";
import { composeNode, type NodeComponents } from "../../src/server/compose-node.js";
import type { A2AOptions } from "../../src/server/options.js";
import { resolveOptions } from "../../src/server/resolve-options.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { v01 } from "../../src/version/v0.1/index.js";
import { v02 } from "../../src/version/v0.2/index.js";
import { v03 } from "../../src/version/v0.3/index.js";
import { v1 } from "../../src/version/v1.js";
import type { ProtocolVersion } from "../../src/version/version.js";
import { Versions } from "../../src/version/versions.js";
import { keyPair } from "../card/signing/keys.js";

const CARD = "/.well-known/agent-card.json";
const EARLIER = "/.well-known/agent.json";

const skill = { id: "s", name: "S", description: "Does.", tags: ["t"] };
const agent = (card: object = {}): Agent => ({
  card: { name: "Probe", description: "Answers.", version: "1.0.0", skills: [skill], ...card },
  security: {
    schemes: { key: apiKeyScheme({ in: "header", name: "X-Key", keys: [{ key: "k".repeat(32), owner: "ann" }] }) },
    require: ["key"],
  },
  async *execute() {
    yield completed();
  },
});

const opened: NodeComponents[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.lifecycle.close(0);
});

/** Facts about versions that cards need. */
const rows = {
  "0.3": row(v03),
  "0.2": row(v02),
  "0.1": row(v01),
};
type Older = keyof typeof rows;

function row({ name, interfaces, isUnnamed, card }: ProtocolVersion): ProtocolVersion {
  return { name, interfaces, ...(isUnnamed && { isUnnamed }), ...(card && { card }), load: async () => ({}) };
}

function serve(options: Partial<A2AOptions> = {}, older: readonly Older[] = ["0.3", "0.2", "0.1"]): NodeComponents {
  const given = options.agents === undefined ? { agent: agent() } : {};
  const settings = resolveOptions(
    { ...given, store: memoryStore(), publicUrl: "https://a.example", ...options },
    false,
  );
  const components = composeNode({
    ...settings,
    versions: new Versions(
      v1,
      older.map((name) => rows[name]),
    ),
  });
  opened.push(components);
  return components;
}

async function get({ fetch }: NodeComponents, path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(new Request(`http://localhost${path}`, { headers }));
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    json: text.startsWith("{") ? JSON.parse(text) : undefined,
  };
}

const version = (name: string): Record<string, string> => ({ "A2A-Version": name });

describe("the card at agent-card.json", () => {
  it("is read by clients of 1.0 and of 0.3", async () => {
    const { json, headers } = await get(serve(), CARD);
    expect(headers.get("vary")).toBe("A2A-Version");
    expect(headers.get("content-type")).toBe("application/json");
    expect(json).toMatchObject({
      protocolVersion: "0.3.0",
      url: "https://a.example",
      preferredTransport: "JSONRPC",
      security: [{ key: [] }],
      securityRequirements: [{ schemes: { key: {} } }],
      securitySchemes: { key: { type: "apiKey", in: "header", apiKeySecurityScheme: { location: "header" } } },
    });
    const interfaces = json.supportedInterfaces.map((each: { protocolVersion: string }) => each.protocolVersion);
    expect(interfaces).toEqual(["1.0", "1.0", "1.0", "0.3", "0.3", "0.2", "0.1"]);
    expect(json.additionalInterfaces.map((each: { transport: string }) => each.transport)).toEqual([
      "JSONRPC",
      "HTTP+JSON",
    ]);
  });

  it("is what it was before there were others for a request that names 1.0, byte for byte", async () => {
    const before = cardText(serve({}, []).card());
    const served = serve();
    for (const name of ["1.0", "1.0.2", " 1.0 "]) expect((await get(served, CARD, version(name))).text).toBe(before);
    expect((await get(served, `${CARD}?A2A-Version=1.0`)).text).toBe(before);
  });

  it("is that of 0.3 alone for a request that names 0.3", async () => {
    const { json } = await get(serve(), CARD, version("0.3"));
    expect(json).toMatchObject({ protocolVersion: "0.3.0", url: "https://a.example" });
    expect(json).not.toHaveProperty("supportedInterfaces");
    expect(json.securitySchemes.key).toEqual({ type: "apiKey", in: "header", name: "X-Key" });
  });

  it("has a tag for each shape, by which each is asked for again", async () => {
    const served = serve();
    const tags: string[] = [];
    for (const headers of [{}, version("1.0"), version("0.3")]) {
      const first = await get(served, CARD, headers);
      const etag = first.headers.get("etag") ?? "";
      tags.push(etag);
      const again = await get(served, CARD, { ...headers, "If-None-Match": etag });
      expect([again.status, again.headers.get("vary"), again.headers.get("etag")]).toEqual([304, "A2A-Version", etag]);
    }
    expect(new Set(tags).size).toBe(3);
    const other = await get(served, CARD, { ...version("0.3"), "If-None-Match": tags[0] ?? "" });
    expect(other.status).toBe(200);
  });

  it("has the same tag at either path where its shape is the same, and each shape has one of its own", async () => {
    const served = serve();
    const tagOf = async (path: string, headers: Record<string, string>): Promise<string> => {
      const answer = await get(served, path, headers);
      expect([answer.status, answer.headers.get("vary")]).toEqual([200, "A2A-Version"]);
      return answer.headers.get("etag") ?? "";
    };
    const named = ["1.0", "0.3", "0.2", "0.1"].map(version);
    const atCard = await Promise.all(named.map((headers) => tagOf(CARD, headers)));
    const atEarlier = await Promise.all(named.map((headers) => tagOf(EARLIER, headers)));
    expect(atEarlier).toEqual(atCard);
    const unnamed = [await tagOf(CARD, {}), await tagOf(EARLIER, {})];
    expect(new Set([...atCard, ...unnamed]).size).toBe(6);
  });

  it("says that its absence depends on the version, too: caches keep such answers", async () => {
    const deviceCode = { deviceAuthorizationUrl: "https://i.example/d", tokenUrl: "https://i.example/t", scopes: {} };
    const { security: _, ...open } = agent({
      securitySchemes: { device: { oauth2SecurityScheme: { flows: { deviceCode } } } },
      securityRequirements: [{ schemes: { device: { list: [] } } }],
    });
    const served = serve({ agent: open });
    for (const [path, headers] of [
      [CARD, version("0.3")],
      [EARLIER, version("0.2")],
      [EARLIER, {}],
    ] as const) {
      const { status, headers: got } = await get(served, path, headers);
      expect([status, got.get("vary")]).toEqual([404, "A2A-Version"]);
    }
  });

  it("helps whoever asks for a version that nobody has", async () => {
    const served = serve();
    const usual = await get(served, CARD);
    for (const name of ["", "7.1", "x"]) expect((await get(served, CARD, version(name))).text).toBe(usual.text);
  });

  it("says nothing of versions that are switched off", async () => {
    const before = cardText(serve({}, []).card());
    const served = serve({}, []);
    for (const headers of [{}, version("0.3"), version("1.0")])
      expect((await get(served, CARD, headers)).text).toBe(before);
    expect((await get(served, EARLIER)).status).toBe(404);
    const { json } = await get(serve({}, ["0.2"]), CARD);
    expect(json).not.toHaveProperty("url");
  });

  it("is that of 1.0 alone where 0.3 could not say what it requires", async () => {
    const deviceCode = { deviceAuthorizationUrl: "https://i.example/d", tokenUrl: "https://i.example/t", scopes: {} };
    const { security: _, ...open } = agent({
      securitySchemes: { device: { oauth2SecurityScheme: { flows: { deviceCode } } } },
      securityRequirements: [{ schemes: { device: { list: [] } } }],
    });
    const served = serve({ agent: open });
    const { json, text } = await get(served, CARD);
    expect(json).not.toHaveProperty("url");
    expect((await get(served, CARD, version("1.0"))).text).toBe(text);
    expect((await get(served, CARD, version("0.3"))).status).toBe(404);
    expect((await get(served, EARLIER)).status).toBe(404);
  });

  it("names the URL of an agent that has a tenant, which 0.3 has no other word for", async () => {
    const served = serve({ agents: { sales: agent(), support: agent({ name: "Support" }) } });
    for (const [path, tenant] of [
      [CARD, "sales"],
      [`/support${CARD}`, "support"],
    ]) {
      const { json } = await get(served, path ?? "");
      expect(json.url).toBe(`https://a.example/${tenant}`);
      const named = json.supportedInterfaces.map((each: Record<string, string>) => [each.protocolVersion, each.tenant]);
      expect(named.slice(0, 3)).toEqual(Array(3).fill(["1.0", tenant]));
      expect(named.slice(3).every(([version, other]: string[]) => version !== "1.0" && (other ?? "") === "")).toBe(
        true,
      );
      const { json: own } = await get(served, path ?? "", version("0.3"));
      expect(own.additionalInterfaces).toEqual([
        { url: `https://a.example/${tenant}`, transport: "JSONRPC" },
        { url: `https://a.example/${tenant}`, transport: "HTTP+JSON" },
      ]);
    }
    expect((await get(served, `/support${EARLIER}`)).json.url).toBe("https://a.example/support");
  });
});

describe("the card at agent.json", () => {
  it("is read by clients of 0.2 and of 0.1", async () => {
    const { json, headers } = await get(serve(), EARLIER);
    expect(json).toMatchObject({
      protocolVersion: "0.2.6",
      url: "https://a.example",
      securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Key" } },
      security: [{ key: [] }],
      authentication: { schemes: ["ApiKey"], credentials: '{"in":"header","name":"X-Key"}' },
      capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: false },
    });
    expect(headers.get("vary")).toBe("A2A-Version");
  });

  it("is that of one version for a request that names it, or where the other is switched off", async () => {
    const served = serve();
    const [second, first] = [await get(served, EARLIER, version("0.2")), await get(served, EARLIER, version("0.1"))];
    expect(second.json).not.toHaveProperty("authentication");
    expect(first.json).not.toHaveProperty("security");
    expect((await get(serve({}, ["0.2"]), EARLIER)).text).toBe(second.text);
    expect((await get(serve({}, ["0.3", "0.1"]), EARLIER)).text).toBe(first.text);
    expect((await get(serve({}, ["0.3"]), EARLIER)).status).toBe(404);
  });
});

describe("signed cards of several shapes", () => {
  const key = keyPair();
  const trust = { keys: [{ ...key.publicJwk, kid: "k1" }] };
  const cardSigning = { keys: [{ key: key.pem, kid: "k1" }] };
  const verified = async (card: object): Promise<CardVerification> => verifyCard(JSON.stringify(card), trust);

  it.each([
    ["for 1.0 and 0.3", CARD, {}, 2],
    ["of 1.0", CARD, version("1.0"), 1],
    ["of 0.3", CARD, version("0.3"), 1],
  ])("%s are signed as they are served", async (_what, path, headers, signatures) => {
    const { json } = await get(serve({ cardSigning }), path, headers);
    expect(json.signatures).toHaveLength(signatures);
    const found = await verified(json);
    expect(found).toMatchObject({ verified: true, uncovered: [] });
    expect(found.signatures.map(({ valid }) => valid)).toEqual(Array(signatures).fill(true));
    expect(found.card.supportedInterfaces.length).toBeGreaterThan(0);
    // A signature covers every member that some reader uses.
    for (const name of Object.keys(json).filter((each) => each !== "signatures")) {
      const changed = typeof json[name] === "string" ? `${json[name]}x` : [];
      const { verified: stillVerified, uncovered } = await verified({ ...json, [name]: changed }).catch(() => ({
        verified: false,
        uncovered: [],
      }));
      expect([name, stillVerified && uncovered.length === 0]).toEqual([name, false]);
    }
  });

  it("are verified by readers of 1.0 that drop what they do not know", async () => {
    const { json } = await get(serve({ cardSigning }), CARD);
    const {
      url: _,
      preferredTransport: _t,
      additionalInterfaces: _a,
      protocolVersion: _v,
      security: _s,
      ...rest
    } = json;
    const { supportsAuthenticatedExtendedCard: _c, ...known } = rest;
    expect(await verified(known)).toMatchObject({ verified: true });
  });

  it("keep their signatures, and so their tag", async () => {
    const served = serve({ cardSigning });
    for (const headers of [{}, version("1.0"), version("0.3")]) {
      expect((await get(served, CARD, headers)).text).toBe((await get(served, CARD, headers)).text);
    }
  });

  it("have none in 0.2 and 0.1, which had no place for them", async () => {
    expect((await get(serve({ cardSigning }), EARLIER)).json).not.toHaveProperty("signatures");
  });

  it("of 0.3 are not taken for cards without interfaces", async () => {
    const { json } = await get(serve({ cardSigning }), CARD, version("0.3"));
    const { card } = await verified(json);
    expect(card.supportedInterfaces[0]).toMatchObject({ url: "https://a.example", protocolVersion: "0.3" });
    expect(Object.keys(card.securitySchemes)).toEqual(["key"]);
  });
});
