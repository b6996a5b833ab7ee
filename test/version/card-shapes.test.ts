import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { cardText } from "../../src/card/documents.js";
import { olderCard } from "../../src/version/card-from-older.js";
import type { CardJson } from "../../src/version/card-json.js";
import { cardToV01 } from "../../src/version/v0.1/card.js";
import { cardToV02 } from "../../src/version/v0.2/card.js";
import { cardInBoth, cardToV03 } from "../../src/version/v0.3/card.js";

const interfaces = [
  { url: "a.example:443", protocolBinding: "GRPC", protocolVersion: "1.0" },
  { url: "https://a.example", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
  { url: "a.example:443", protocolBinding: "GRPC", protocolVersion: "0.3" },
  { url: "https://a.example", protocolBinding: "JSONRPC", protocolVersion: "0.3" },
  { url: "https://a.example", protocolBinding: "HTTP+JSON", protocolVersion: "0.3" },
  { url: "https://a.example", protocolBinding: "urn:parley:binding:connect:v1", protocolVersion: "0.3" },
  { url: "https://a.example", protocolBinding: "JSONRPC", protocolVersion: "0.2" },
  { url: "https://a.example", protocolBinding: "JSONRPC", protocolVersion: "0.1" },
];

const flow = { tokenUrl: "https://i.example/t", scopes: { read: "Reads" } };

const schemes = {
  bearer: { httpAuthSecurityScheme: { scheme: "bearer", bearerFormat: "JWT" } },
  key: { apiKeySecurityScheme: { location: "cookie", name: "k" } },
  odd: { apiKeySecurityScheme: { location: "body", name: "k" } },
  oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: "https://i.example/o" } },
  tls: { mtlsSecurityScheme: { description: "ours" } },
  code: {
    oauth2SecurityScheme: {
      flows: { authorizationCode: { ...flow, authorizationUrl: "https://i.example/a", pkceRequired: true } },
      oauth2MetadataUrl: "https://i.example/m",
    },
  },
  device: {
    oauth2SecurityScheme: { flows: { deviceCode: { ...flow, deviceAuthorizationUrl: "https://i.example/d" } } },
  },
};

const needs = (...names: readonly string[]): object => ({
  schemes: Object.fromEntries(names.map((name) => [name, { list: ["read"] }])),
});

const skill = { id: "echo", name: "Echo", description: "Repeats", tags: ["echo"], examples: ["hi"] };

/** A card of 1.0, as the service writes it. */
function cardOf(members: CardJson = {}): CardJson {
  const card = fromJson(AgentCardSchema, {
    name: "Echo",
    description: "Echoes",
    version: "1.0.0",
    supportedInterfaces: interfaces,
    provider: { organization: "Example", url: "https://example.com" },
    documentationUrl: "https://a.example/docs",
    iconUrl: "https://a.example/icon.png",
    capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: true, extensions: [{ uri: "x:y" }] },
    securitySchemes: schemes,
    securityRequirements: [needs("bearer"), needs("device"), needs("key", "tls")],
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["image/png"],
    skills: [{ ...skill, securityRequirements: [needs("code")] }],
    signatures: [{ protected: "e30", signature: "AA" }],
    ...members,
  } as JsonValue);
  return JSON.parse(cardText(card));
}

const read = (json: CardJson | undefined): AgentCard =>
  json === undefined
    ? create(AgentCardSchema)
    : fromJson(AgentCardSchema, json as JsonValue, { ignoreUnknownFields: true });

describe("cardToV03()", () => {
  it("says what a card says", () => {
    expect(cardToV03(cardOf(), "0.3")).toEqual({
      protocolVersion: "0.3.0",
      name: "Echo",
      description: "Echoes",
      version: "1.0.0",
      url: "https://a.example",
      preferredTransport: "JSONRPC",
      additionalInterfaces: [
        { url: "https://a.example", transport: "JSONRPC" },
        { url: "a.example:443", transport: "GRPC" },
        { url: "https://a.example", transport: "HTTP+JSON" },
      ],
      provider: { organization: "Example", url: "https://example.com" },
      documentationUrl: "https://a.example/docs",
      iconUrl: "https://a.example/icon.png",
      capabilities: { streaming: true, pushNotifications: false, extensions: [{ uri: "x:y" }] },
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
        key: { type: "apiKey", in: "cookie", name: "k" },
        odd: { type: "apiKey", in: "header", name: "k" },
        oidc: { type: "openIdConnect", openIdConnectUrl: "https://i.example/o" },
        tls: { type: "mutualTLS", description: "ours" },
        code: {
          type: "oauth2",
          flows: { authorizationCode: { ...flow, authorizationUrl: "https://i.example/a" } },
          oauth2MetadataUrl: "https://i.example/m",
        },
      },
      security: [{ bearer: ["read"] }, { key: ["read"], tls: ["read"] }],
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["image/png"],
      skills: [{ ...skill, security: [{ code: ["read"] }] }],
      supportsAuthenticatedExtendedCard: true,
    });
  });

  it("says again what was read from it, but for what 0.3 has no word for", () => {
    const { device: _, odd: _odd, ...sayable } = schemes;
    const card = cardOf({ securitySchemes: sayable, securityRequirements: [needs("bearer"), {}] });
    const older = cardToV03(card, "0.3") as CardJson;
    expect(cardToV03(olderCard(older) as CardJson, "0.3")).toEqual(older);
    const again = read(olderCard(older));
    const { supportedInterfaces, signatures, ...before } = read(card);
    const code = before.securitySchemes.code?.scheme.value as {
      flows?: { flow: { value: { pkceRequired: boolean } } };
    };
    if (code.flows !== undefined) code.flows.flow.value.pkceRequired = false;
    expect(again).toMatchObject(before);
    expect(again.supportedInterfaces.map(({ protocolVersion }) => protocolVersion)).toEqual(["0.3", "0.3", "0.3"]);
  });

  it("is nothing where no interface is of 0.3, or all of them need a tenant", () => {
    const others = interfaces.filter(({ protocolVersion }) => protocolVersion !== "0.3");
    expect(cardToV03(cardOf({ supportedInterfaces: others }), "0.3")).toBeUndefined();
    const tenants = interfaces.map((each) => ({ ...each, tenant: "t" }));
    expect(cardToV03(cardOf({ supportedInterfaces: tenants }), "0.3")).toBeUndefined();
  });

  it("is nothing where a list of requirements would become empty, that of a skill too", () => {
    expect(
      cardToV03(cardOf({ securityRequirements: [needs("device"), needs("device", "bearer")] }), "0.3"),
    ).toBeUndefined();
    const skills = [{ ...skill, securityRequirements: [needs("device")] }];
    expect(cardToV03(cardOf({ skills }), "0.3")).toBeUndefined();
    expect(cardToV03(cardOf({ securityRequirements: [] }), "0.3")).not.toHaveProperty("security");
    expect(cardToV03(cardOf({ securityRequirements: [{}] }), "0.3")).toMatchObject({ security: [{}] });
  });
});

describe("cardInBoth()", () => {
  it("is the card of 1.0 for who reads that, and the one of 0.3 for who reads that", () => {
    const card = cardOf({ signatures: [] });
    const both = cardInBoth(card) as CardJson;
    expect(read(both)).toEqual(read(card));
    expect(both).toMatchObject(cardToV03(card, "0.3") as object);
  });

  it("gives every scheme a type, since readers of 0.3 refuse a card with one that has none", () => {
    const { securitySchemes, security } = cardInBoth(cardOf()) as {
      securitySchemes: Record<string, object>;
      security: object;
    };
    for (const scheme of Object.values(securitySchemes)) expect(scheme).toHaveProperty("type");
    expect(securitySchemes.device).toEqual({
      type: "oauth2",
      ...schemes.device.oauth2SecurityScheme,
      ...schemes.device,
    });
    expect(security).toEqual([{ bearer: ["read"] }, { key: ["read"], tls: ["read"] }]);
  });
});

describe("cardToV02()", () => {
  it("has JSON-RPC at its url, and nothing that came later", () => {
    const card = cardToV02(cardOf()) as CardJson;
    expect(card).toMatchObject({
      protocolVersion: "0.2.6",
      url: "https://a.example",
      preferredTransport: "JSONRPC",
      additionalInterfaces: [{ url: "https://a.example", transport: "JSONRPC" }],
      capabilities: { streaming: true, stateTransitionHistory: false },
      supportsAuthenticatedExtendedCard: true,
      // To leave it out would hide a requirement.
      securitySchemes: { tls: { type: "mutualTLS" } },
      security: [{ bearer: ["read"] }, { key: ["read"], tls: ["read"] }],
      skills: [skill],
    });
    expect(card).not.toHaveProperty("signatures");
    expect((card.skills as object[])[0]).not.toHaveProperty("security");
    expect((card.securitySchemes as { code: object }).code).not.toHaveProperty("oauth2MetadataUrl");
  });

  it("is nothing without JSON-RPC", () => {
    const grpc = [{ url: "a.example:443", protocolBinding: "GRPC", protocolVersion: "0.2" }];
    expect(cardToV02(cardOf({ supportedInterfaces: grpc }))).toBeUndefined();
  });
});

describe("cardToV01()", () => {
  it("says what a card says in the words of 0.1, without secrets", () => {
    const card = cardToV01(cardOf({ securityRequirements: [needs("bearer"), needs("key", "tls"), needs("code")] }));
    expect(card).toEqual({
      name: "Echo",
      description: "Echoes",
      version: "1.0.0",
      documentationUrl: "https://a.example/docs",
      provider: { organization: "Example", url: "https://example.com" },
      protocolVersion: "0.1",
      url: "https://a.example",
      capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: false },
      authentication: { schemes: ["Bearer", "ApiKey", "OAuth2"], credentials: expect.any(String) },
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["image/png"],
      skills: [skill],
    });
    const { credentials } = (card as { authentication: { credentials: string } }).authentication;
    const { scopes, tokenUrl } = flow;
    expect(JSON.parse(credentials)).toEqual({
      in: "cookie",
      name: "k",
      authorizationUrl: "https://i.example/a",
      tokenUrl,
      scopes,
    });
    const again = read(olderCard(card as CardJson));
    expect(Object.keys(again.securitySchemes)).toEqual(["Bearer", "ApiKey", "OAuth2"]);
    expect(again.securitySchemes.ApiKey?.scheme).toMatchObject({ value: { location: "cookie", name: "k" } });
  });

  it("names no authentication where none is needed, and is nothing where it has no word for what is", () => {
    expect(cardToV01(cardOf({ securityRequirements: [] }))).not.toHaveProperty("authentication");
    expect(cardToV01(cardOf({ securityRequirements: [needs("bearer"), {}] }))).not.toHaveProperty("authentication");
    expect(cardToV01(cardOf({ securityRequirements: [needs("tls")] }))).toBeUndefined();
  });
});
