import { describe, expect, it } from "vitest";
import { readCard } from "../../src/client/card-reader.js";
import type { A2AError } from "../../src/core/error.js";
import { cardJson } from "./card-server.js";

const read = (json: unknown) => readCard(typeof json === "string" ? json : JSON.stringify(json), "https://a.example/c");
const errorOf = (json: unknown): A2AError => {
  try {
    read(json);
  } catch (error) {
    return error as A2AError;
  }
  return expect.fail("it was read");
};

describe("readCard()", () => {
  it("takes a card that has nothing but an interface", () => {
    const card = read({ supportedInterfaces: [{ url: "https://a.example", protocolBinding: "JSONRPC" }] });
    expect(card.supportedInterfaces).toMatchObject([{ protocolBinding: "JSONRPC", protocolVersion: "" }]);
    expect(card.capabilities).toBeUndefined();
  });

  it("ignores what it does not know", () => {
    const more = { "x-own": { deep: [1] }, securitySchemes: { old: { type: "apiKey", in: "header", name: "k" } } };
    expect(read(cardJson(more)).securitySchemes.old?.scheme.case).toBeUndefined();
  });

  it("knows how other libraries write what a caller has to show", () => {
    const form = { description: "", location: "header", name: "X-Api-Key" };
    const flow = { authorizationUrl: "https://i.example/a", tokenUrl: "https://i.example/t", scopes: { read: "" } };
    const card = read(
      cardJson({
        // @a2a-js/sdk 1.3, from a card that is an object of its own types.
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
        // a2a-go 2.3.
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

  it("leaves out what is of another form, unless calls depend on it", () => {
    const odd = { skills: "none", provider: ["x"], documentationUrl: 1, icon_url: {}, defaultInputModes: null };
    const card = read(cardJson(odd));
    expect(card).toMatchObject({ name: "Found", skills: [], defaultOutputModes: ["text/plain"] });
    expect([card.provider, card.documentationUrl]).toEqual([undefined, undefined]);
    for (const broken of [
      { supportedInterfaces: ["x"] },
      { capabilities: [] },
      { securitySchemes: [] },
      { securityRequirements: {} },
      { security_requirements: 1 },
    ]) {
      expect(errorOf(cardJson({ ...odd, ...broken }))).toMatchObject({
        reason: "INVALID_AGENT_RESPONSE",
        message: expect.stringMatching(/^https:\/\/a\.example\/c is no agent card that can be used: s|c/),
      });
    }
  });

  it.each(["", "null", "[]", '"card"', "<!doctype html><title>Log in</title>", "{", '{"name":"x"}', "{}"])(
    "refuses %s",
    (text) => {
      expect(errorOf(text)).toMatchObject({
        reason: "INVALID_AGENT_RESPONSE",
        message: expect.stringContaining("https://a.example/c is no agent card"),
      });
    },
  );

  it("refuses what nests without end", () => {
    const deep = `{"supportedInterfaces":[],"provider":${"[".repeat(200_000)}${"]".repeat(200_000)}}`;
    expect(read(deep).provider).toBeUndefined();
    const needed = `{"supportedInterfaces":${"[".repeat(200_000)}${"]".repeat(200_000)}}`;
    expect(errorOf(needed)).toMatchObject({ reason: "INVALID_AGENT_RESPONSE" });
  });

  it("says what a card of an earlier version speaks", () => {
    const earlier = { name: "x", url: "https://a.example", protocolVersion: "0.3.0", preferredTransport: "JSONRPC" };
    expect(errorOf(earlier)).toMatchObject({
      reason: "VERSION_NOT_SUPPORTED",
      message: "The agent of https://a.example/c speaks A2A 0.3.0; this client speaks 1.0.",
      metadata: { requestedVersion: "1.0", supportedVersions: "0.3.0" },
    });
    expect(errorOf({ name: "x", url: "https://a.example" })).toMatchObject({
      reason: "VERSION_NOT_SUPPORTED",
      message: "The agent of https://a.example/c speaks a version of A2A before 1.0; this client speaks 1.0.",
    });
  });
});
