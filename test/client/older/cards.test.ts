import { create } from "@bufbuild/protobuf";
import { FlattenedSign } from "jose";
import { describe, expect, it } from "vitest";
import { AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { verifyCard } from "../../../src/card/index.js";
import type { A2AError } from "../../../src/client/index.js";
import { serveCards } from "../card-server.js";
import { connect } from "../world.js";

const card = {
  protocolVersion: "0.3.0",
  name: "Older",
  description: "Speaks A2A 0.3.",
  version: "1",
  url: "http://127.0.0.1:1/rest",
  preferredTransport: "HTTP+JSON",
  capabilities: { streaming: true, stateTransitionHistory: false },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
  security: [{ key: [] }],
  securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Key" } },
  supportsAuthenticatedExtendedCard: true,
};

async function failure(call: Promise<unknown>): Promise<A2AError> {
  return call.then(
    () => expect.fail("The call did not fail."),
    (error: A2AError) => error,
  );
}

/** A server with a card at one path. Other paths answer 404. */
function only(path: string, body: unknown) {
  return serveCards(({ url }, response) => {
    if (url === path) response.setHeader("content-type", "application/json").end(JSON.stringify(body));
    else response.writeHead(404).end();
  });
}

describe("cards of versions before 1.0", () => {
  it("are looked for where these have them, when there is none in the place of 1.0", async () => {
    const server = await only("/below/.well-known/agent.json", card);
    const client = await connect(`${server.url}/below`, { card: { cache: false } });
    expect(server.got.map(({ path }) => path)).toEqual([
      "/below/.well-known/agent-card.json",
      "/below/.well-known/agent.json",
    ]);
    expect(client.card.capabilities).toMatchObject({ streaming: true, extendedAgentCard: true });
    expect(client.card.securitySchemes.key?.scheme).toMatchObject({
      case: "apiKeySecurityScheme",
      value: { location: "header", name: "X-Key" },
    });
    expect(client.interface).toMatchObject({ protocolVersion: "0.3", protocolBinding: "HTTP+JSON" });
  });

  it("are looked for in one more place alone", async () => {
    const server = await serveCards((_, response) => response.writeHead(404).end());
    expect(await failure(connect(`${server.url}/x`, { card: { cache: false } }))).toMatchObject({
      reason: "INVALID_AGENT_RESPONSE",
      message: expect.stringContaining("/x/.well-known/agent-card.json"),
    });
    expect(server.got.map(({ path }) => path)).toEqual([
      "/x/.well-known/agent-card.json",
      "/x/.well-known/agent.json",
      "/x",
    ]);
  });

  it("are given as their JSON", async () => {
    const client = await connect({ ...card, url: "https://a.example/rest" });
    expect(client.interface).toMatchObject({ url: "https://a.example/rest", protocolVersion: "0.3" });
  });

  it("say what they speak where nobody here does", async () => {
    expect(await failure(connect({ ...card, protocolVersion: "0.7.1" }))).toMatchObject({
      reason: "VERSION_NOT_SUPPORTED",
      metadata: { supportedVersions: "0.7" },
    });
  });

  it("are none without the URL that they have to have", async () => {
    const error = await failure(connect({ name: "Older", protocolVersion: "0.3.0" }));
    expect(error.reason).toBe("INVALID_AGENT_RESPONSE");
    expect(error.message).toBe("The card is not an agent card: it has neither supportedInterfaces nor a url.");
    const newer = await failure(connect({ ...card, protocolVersion: "7.0" }));
    expect(newer.message).toMatch(/^The agent of the card speaks A2A 7\.0; this client speaks /);
  });

  describe("with signatures", () => {
    const keyPair = crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);

    /**
     * Signs a card as 0.3 does: the unchanged card in its canonical form (RFC 8785). All texts in the card are plain.
     */
    async function signed(covered: object): Promise<{ text: string; verify: (text: string) => Promise<never> }> {
      const { privateKey, publicKey } = await keyPair;
      const payload = new TextEncoder().encode(canonical(covered));
      const jws = await new FlattenedSign(payload).setProtectedHeader({ alg: "ES256", kid: "k" }).sign(privateKey);
      const signatures = [{ protected: jws.protected, signature: jws.signature }];
      const jwk = { ...(await crypto.subtle.exportKey("jwk", publicKey)), kid: "k", alg: "ES256" };
      const verify = (text: string) => verifyCard(text, { keys: [jwk as never] }) as Promise<never>;
      return { text: JSON.stringify({ ...card, url: "https://a.example/rest", signatures }), verify };
    }

    const canonical = (json: unknown): string =>
      JSON.stringify(json, (_, value: unknown) =>
        typeof value === "object" && value !== null && !Array.isArray(value)
          ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
          : value,
      );

    it("are verified as they were signed", async () => {
      const { text, verify } = await signed({ ...card, url: "https://a.example/rest" });
      expect((await connect(text, { card: { verify } })).interface.url).toBe("https://a.example/rest");
      const changed = text.replace("https://a.example", "https://b.example");
      expect(await failure(connect(changed, { card: { verify } }))).toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
    });

    it("are refused where what calls depend on is not signed", async () => {
      // The fields that a reader of 1.0 knows. They exclude the URL and the security of the card.
      const { name, description, version, defaultInputModes, defaultOutputModes, skills } = card;
      const known = { name, description, version, defaultInputModes, defaultOutputModes, skills };
      const { text, verify } = await signed({
        ...known,
        capabilities: { streaming: true },
        securitySchemes: { key: {} },
      });
      expect(await failure(connect(text, { card: { verify } }))).toMatchObject({
        reason: "INVALID_AGENT_RESPONSE",
        message: expect.stringContaining("no signature that is trusted"),
      });
      // An own verifier has to report that the signature covers the whole card.
      const partial = async () => ({ verified: true, card: create(AgentCardSchema), signatures: [] });
      expect(await failure(connect(text, { card: { verify: partial } }))).toMatchObject({
        reason: "INVALID_AGENT_RESPONSE",
        message: expect.stringContaining("does not cover all of it"),
      });
    });
  });
});
