import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { olderCard } from "../../src/version/card-from-older.js";
import type { CardJson } from "../../src/version/card-json.js";

const read = (card: CardJson): AgentCard => fromJson(AgentCardSchema, olderCard(card) as JsonValue);

/** Interfaces as one line each. */
const interfacesOf = ({ supportedInterfaces }: AgentCard): string[] =>
  supportedInterfaces.map((each) => `${each.protocolBinding} ${each.protocolVersion} ${each.url}`);

const base = {
  name: "Echo",
  description: "Echoes",
  url: "https://a.example/rpc",
  version: "1.0.0",
  capabilities: { streaming: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "echo", name: "Echo", description: "Repeats", tags: ["echo"] }],
};

describe("olderCard() of 0.3", () => {
  it("reads all of a card", () => {
    const card = read({
      ...base,
      protocolVersion: "0.3.0",
      preferredTransport: "JSONRPC",
      additionalInterfaces: [
        { url: "https://a.example/rpc", transport: "JSONRPC" },
        { url: "https://a.example", transport: "HTTP+JSON" },
        { url: "a.example:443", transport: "GRPC" },
      ],
      provider: { organization: "Example", url: "https://example.com" },
      iconUrl: "https://a.example/icon.png",
      documentationUrl: "https://a.example/docs",
      capabilities: {
        streaming: true,
        pushNotifications: true,
        stateTransitionHistory: true,
        extensions: [{ uri: "https://x.example", required: true, params: { a: 1 } }],
      },
      securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
      security: [{ bearer: ["read"] }, {}],
      skills: [{ ...base.skills[0], examples: ["hi"], inputModes: ["image/*"], security: [{ bearer: [] }] }],
      supportsAuthenticatedExtendedCard: true,
      signatures: [{ protected: "e30", signature: "AA" }],
    });
    expect(interfacesOf(card)).toEqual([
      "JSONRPC 0.3 https://a.example/rpc",
      "HTTP+JSON 0.3 https://a.example",
      "GRPC 0.3 a.example:443",
    ]);
    expect(card).toMatchObject({
      name: "Echo",
      provider: { organization: "Example" },
      iconUrl: "https://a.example/icon.png",
      documentationUrl: "https://a.example/docs",
      capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
      signatures: [],
    });
    expect(card.capabilities?.extensions[0]).toMatchObject({ uri: "https://x.example", required: true });
    expect(card.securitySchemes.bearer?.scheme).toMatchObject({
      case: "httpAuthSecurityScheme",
      value: { scheme: "bearer", bearerFormat: "JWT" },
    });
    expect(card.securityRequirements.map(({ schemes }) => schemes.bearer?.list)).toEqual([["read"], undefined]);
    expect(card.skills[0]).toMatchObject({ examples: ["hi"], inputModes: ["image/*"] });
    expect(card.skills[0]?.securityRequirements[0]?.schemes.bearer?.list).toEqual([]);
  });

  it("takes JSON-RPC where no transport is named", () => {
    expect(interfacesOf(read({ ...base, protocolVersion: "0.3.2" }))).toEqual(["JSONRPC 0.3 https://a.example/rpc"]);
  });

  it("reads each kind of scheme, and one of several flows", () => {
    const authorizationCode = { authorizationUrl: "https://i.example/a", tokenUrl: "https://i.example/t", scopes: {} };
    const { securitySchemes } = read({
      ...base,
      protocolVersion: "0.3.0",
      securitySchemes: {
        key: { type: "apiKey", in: "query", name: "k", description: "d" },
        oauth: {
          type: "oauth2",
          flows: { password: { tokenUrl: "https://i.example/t", scopes: {} }, authorizationCode },
          oauth2MetadataUrl: "https://i.example/m",
        },
        oidc: { type: "openIdConnect", openIdConnectUrl: "https://i.example/o" },
        tls: { type: "mutualTLS", description: "d" },
        other: { type: "new" },
        // ProtoJSON of the contract of 0.3.
        proto: { httpAuthSecurityScheme: { scheme: "Basic" } },
      },
      security: [{ schemes: { proto: { list: ["a"] } } }, { schemes: [] }],
    });
    expect(securitySchemes.key?.scheme).toMatchObject({ value: { location: "query", name: "k", description: "d" } });
    expect(securitySchemes.oauth?.scheme).toMatchObject({
      case: "oauth2SecurityScheme",
      value: { flows: { flow: { case: "authorizationCode" } }, oauth2MetadataUrl: "https://i.example/m" },
    });
    expect(securitySchemes.oidc?.scheme).toMatchObject({ value: { openIdConnectUrl: "https://i.example/o" } });
    expect(securitySchemes.tls?.scheme).toMatchObject({ case: "mtlsSecurityScheme", value: { description: "d" } });
    expect(securitySchemes.other?.scheme.case).toBeUndefined();
    expect(securitySchemes.proto?.scheme).toMatchObject({ value: { scheme: "Basic" } });
  });

  it("keeps what is malformed malformed, so that nobody takes it for a card without security", () => {
    const broken = olderCard({ ...base, protocolVersion: "0.3.0", security: "bearer", securitySchemes: [] });
    expect(broken).toMatchObject({ securityRequirements: "bearer", securitySchemes: [] });
    expect(olderCard({ ...base, protocolVersion: "0.3.0", security: ["bearer"] })).toMatchObject({
      securityRequirements: ["bearer"],
    });
  });
});

describe("olderCard() of 0.2", () => {
  it("is what names no version, and has what only 0.2 has or nothing that only 0.1 has", () => {
    for (const card of [base, { ...base, security: [] }, { ...base, description: undefined, security: [] }]) {
      expect(interfacesOf(read(card))).toEqual(["JSONRPC 0.2 https://a.example/rpc"]);
    }
    expect(interfacesOf(read({ ...base, protocolVersion: "0.2.6" }))).toEqual(["JSONRPC 0.2 https://a.example/rpc"]);
  });
});

describe("olderCard() of 0.1", () => {
  const first = {
    name: "Google Maps Agent",
    description: "Plan routes",
    url: "https://maps-agent.example",
    provider: { organization: "Example", url: null },
    version: "1.0.0",
    authentication: { schemes: ["OAuth2"], credentials: null },
    defaultInputModes: ["text"],
    defaultOutputModes: ["text", "application/html"],
    capabilities: { streaming: true, pushNotifications: false, stateTransitionHistory: false },
    skills: [{ id: "route-planner", name: "Route planning", description: null, tags: ["maps"], inputModes: ["text"] }],
  };

  it("reads all of a card, with null for what is absent", () => {
    const card = read(first);
    expect(interfacesOf(card)).toEqual(["JSONRPC 0.1 https://maps-agent.example"]);
    expect(card).toMatchObject({
      provider: { organization: "Example", url: "" },
      capabilities: { streaming: true, pushNotifications: false },
      defaultInputModes: ["text/plain"],
      defaultOutputModes: ["text/plain", "application/html"],
      skills: [{ id: "route-planner", description: "", tags: ["maps"], inputModes: ["text/plain"] }],
    });
    expect(card.securitySchemes.OAuth2?.scheme).toMatchObject({ value: { scheme: "bearer" } });
    expect(card.securityRequirements.map(({ schemes }) => Object.keys(schemes))).toEqual([["OAuth2"]]);
  });

  it("is what lacks a member that every card of 0.2 has, or has one that only 0.1 knew, be it null", () => {
    const skills = [{ id: "a", name: "A", description: "A", tags: null }];
    for (const card of [
      { ...base, authentication: null },
      { ...base, skills },
      { ...base, description: null },
    ]) {
      expect(interfacesOf(read(card))).toEqual(["JSONRPC 0.1 https://a.example/rpc"]);
    }
    const extended = { ...base, skills, capabilities: { extensions: [] } };
    expect(interfacesOf(read(extended))).toEqual(["JSONRPC 0.2 https://a.example/rpc"]);
  });

  it("fills what 0.1 did not ask for", () => {
    const { url, name, version } = first;
    const card = read({ url, name, version, capabilities: {}, skills: [{ id: "a", name: "A" }] });
    expect(interfacesOf(card)).toEqual(["JSONRPC 0.1 https://maps-agent.example"]);
    expect(card).toMatchObject({ defaultInputModes: ["text/plain"], defaultOutputModes: ["text/plain"] });
    expect(card.securityRequirements).toEqual([]);
  });

  it("reads schemes by their names and hints, each an alternative", () => {
    const schemesOf = (schemes: unknown, credentials?: unknown): AgentCard =>
      read({ ...first, authentication: { schemes, credentials } });
    const card = schemesOf(["Bearer", "Basic", "ApiKey", "jwt"]);
    const found = Object.entries(card.securitySchemes).map(([name, { scheme }]) => [name, scheme.value]);
    expect(Object.fromEntries(found)).toMatchObject({
      Bearer: { scheme: "bearer" },
      Basic: { scheme: "basic" },
      ApiKey: { location: "header", name: "X-API-Key" },
      jwt: undefined,
    });
    expect(card.securityRequirements).toHaveLength(4);
    expect(schemesOf("apiKey", '{"in":"query","name":"k"}').securitySchemes.apiKey?.scheme).toMatchObject({
      value: { location: "query", name: "k" },
    });
    const urls = { tokenUrl: "https://i.example/t", scopes: { read: "Reads" } };
    expect(schemesOf(["OAuth2"], JSON.stringify(urls)).securitySchemes.OAuth2?.scheme).toMatchObject({
      value: { flows: { flow: { case: "clientCredentials", value: urls } } },
    });
    expect(schemesOf(["public"]).securityRequirements.map(({ schemes }) => schemes)).toEqual([{}]);
    expect(schemesOf(["Bearer"], "{no json").securitySchemes.Bearer?.scheme.case).toBe("httpAuthSecurityScheme");
  });

  it("is told by its version where it is named", () => {
    expect(interfacesOf(read({ ...base, protocolVersion: "0.1.0" }))).toEqual(["JSONRPC 0.1 https://a.example/rpc"]);
  });
});

it("olderCard() reads nothing without a url", () => {
  expect(olderCard({ name: "x", protocolVersion: "0.3.0" })).toBeUndefined();
});
