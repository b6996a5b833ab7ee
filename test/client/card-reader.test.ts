import { describe, expect, it } from "vitest";
import { readCard } from "../../src/client/discovery/card-reader.js";
import type { A2AError } from "../../src/core/error.js";
import { cardJson } from "./card-server.js";

const read = async (json: unknown) => {
  const { card } = await readCard(typeof json === "string" ? json : JSON.stringify(json), "https://a.example/c");
  return card;
};
const errorOf = (json: unknown): Promise<A2AError> =>
  read(json).then(
    () => expect.fail("it was read"),
    (error: A2AError) => error,
  );

describe("readCard()", () => {
  it("takes a card that has nothing but an interface", async () => {
    const card = await read({ supportedInterfaces: [{ url: "https://a.example", protocolBinding: "JSONRPC" }] });
    expect(card.supportedInterfaces).toMatchObject([{ protocolBinding: "JSONRPC", protocolVersion: "" }]);
    expect(card.capabilities).toBeUndefined();
  });

  it("ignores what it does not know", async () => {
    const more = { "x-own": { deep: [1] }, securitySchemes: { old: { type: "apiKey", in: "header", name: "k" } } };
    expect((await read(cardJson(more))).securitySchemes.old?.scheme.case).toBeUndefined();
  });

  it("knows how other libraries write what a caller has to show", async () => {
    const form = { description: "", location: "header", name: "X-Api-Key" };
    const flow = { authorizationUrl: "https://i.example/a", tokenUrl: "https://i.example/t", scopes: { read: "" } };
    const card = await read(
      cardJson({
        // The form of @a2a-js/sdk 1.3, from a card object of its own types.
        securitySchemes: {
          key: { scheme: { $case: "apiKeySecurityScheme", value: form } },
          oauth: {
            scheme: {
              $case: "oauth2SecurityScheme",
              value: { flows: { flow: { $case: "authorizationCode", value: flow } } },
            },
          },
          ["__proto__"]: {},
        },
        // The form of a2a-go 2.3.
        securityRequirements: [{ schemes: { key: [], oauth: ["read"] } }, { schemes: { key: { list: [] } } }],
        skills: [{ id: "s", name: "S", securityRequirements: [{ schemes: { key: [] } }] }],
      }),
    );
    expect(card.securitySchemes.key?.scheme).toMatchObject({ case: "apiKeySecurityScheme", value: form });
    expect(card.securitySchemes.oauth?.scheme).toMatchObject({
      case: "oauth2SecurityScheme",
      value: { flows: { flow: { case: "authorizationCode", value: { tokenUrl: flow.tokenUrl } } } },
    });
    expect(card.securityRequirements).toMatchObject([
      { schemes: { key: { list: [] }, oauth: { list: ["read"] } } },
      { schemes: { key: { list: [] } } },
    ]);
    expect(card.skills[0]?.securityRequirements).toMatchObject([{ schemes: { key: { list: [] } } }]);
  });

  it("leaves out what is of another form, unless calls depend on it", async () => {
    const odd = { skills: "none", provider: ["x"], documentationUrl: 1, icon_url: {}, defaultInputModes: null };
    const card = await read(cardJson(odd));
    expect(card).toMatchObject({ name: "Found", skills: [], defaultOutputModes: ["text/plain"] });
    expect([card.provider, card.documentationUrl]).toEqual([undefined, undefined]);
    for (const broken of [
      { supportedInterfaces: ["x"] },
      { capabilities: [] },
      { securitySchemes: [] },
      { securityRequirements: {} },
      { security_requirements: 1 },
    ]) {
      expect(await errorOf(cardJson({ ...odd, ...broken }))).toMatchObject({
        reason: "INVALID_AGENT_RESPONSE",
        message: expect.stringMatching(/^https:\/\/a\.example\/c is not a usable agent card: s|c/),
      });
    }
  });

  it.each(["", "null", "[]", '"card"', "<!doctype html><title>Log in</title>", "{", '{"name":"x"}', "{}"])(
    "refuses %s",
    async (text) => {
      expect(await errorOf(text)).toMatchObject({
        reason: "INVALID_AGENT_RESPONSE",
        message: expect.stringContaining("https://a.example/c is not an agent card"),
      });
    },
  );

  it("refuses what nests without end", async () => {
    const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
    expect((await read(`{"supportedInterfaces":[],"provider":${nested(20_000)}}`)).provider).toBeUndefined();
    for (const without of [
      `{"supportedInterfaces":${nested(20_000)}}`,
      `{"supportedInterfaces":${nested(200_000)}}`,
      `{"supportedInterfaces":[],"provider":${nested(200_000)}}`,
      `{"supportedInterfaces":[],"provider":${nested(20_000)},"skills":[${"{},".repeat(340_000)}{}]}`,
    ]) {
      expect(await errorOf(without)).toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
    }
  });

  it("reads cards of versions before 1.0", async () => {
    const older = { name: "x", url: "https://a.example", protocolVersion: "0.3.0", preferredTransport: "GRPC" };
    expect(
      await read({ ...older, additionalInterfaces: [{ url: "https://b.example", transport: "JSONRPC" }] }),
    ).toMatchObject({
      name: "x",
      supportedInterfaces: [
        { url: "https://a.example", protocolBinding: "GRPC", protocolVersion: "0.3" },
        { url: "https://b.example", protocolBinding: "JSONRPC", protocolVersion: "0.3" },
      ],
    });
    expect((await read({ name: "x", url: "https://a.example" })).supportedInterfaces).toMatchObject([
      { url: "https://a.example", protocolBinding: "JSONRPC", protocolVersion: "0.1" },
    ]);
    // Unneeded members of an older card may have a wrong type too.
    expect(await read({ ...older, skills: "none" })).toMatchObject({ name: "x", skills: [] });
    expect(await errorOf({ ...older, securitySchemes: [] })).toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
  });

  it("reads of a card for several versions what is for 1.0", async () => {
    const union = cardJson({ url: "https://old.example", protocolVersion: "0.3.0", preferredTransport: "GRPC" });
    expect((await read(union)).supportedInterfaces).toMatchObject([{ protocolVersion: "1.0" }]);
    const only = { ...union, supportedInterfaces: [] };
    expect((await read(only)).supportedInterfaces).toMatchObject([
      { url: "https://old.example", protocolVersion: "0.3" },
    ]);
  });
});
