import { describe, expect, it } from "vitest";
import { checkCard } from "../../src/card/build.js";
import type { AgentCardInput } from "../../src/index.js";

const base = { name: "Probe", description: "Answers.", version: "1.0.0" };
const wired = { pushNotifications: false, extendedAgentCard: false, extensions: [] };
const check = (card: object) => checkCard({ ...base, ...card } as AgentCardInput, wired);

describe("what an author writes as a card", () => {
  it("has no fields that the contract does not know, at any depth", () => {
    const { faults } = check({
      descripton: "x",
      url: "http://localhost",
      provider: { organisation: "x", organization: "x", url: "https://example.org" },
      skills: [{ id: "a", name: "A", description: "a", tags: ["a"], example: ["x"] }],
    });
    expect(faults).toEqual([
      "provider.organisation is not known: did you mean organization?",
      "skills[0].example is not known: did you mean examples?",
      "descripton is not known: did you mean description?",
      "url is not known",
    ]);
  });

  it("may have its security schemes as the specification's JSON does, and as protobuf's objects", () => {
    const value = { scheme: "bearer" };
    const json = check({ securitySchemes: { bearer: { httpAuthSecurityScheme: value } } });
    const objects = check({ securitySchemes: { bearer: { scheme: { case: "httpAuthSecurityScheme", value } } } });
    expect([json.faults, objects.faults]).toEqual([[], []]);
    expect(json.card.securitySchemes.bearer?.scheme).toMatchObject({ case: "httpAuthSecurityScheme", value });
    expect(objects.card).toEqual(json.card);
    const slip = check({ securitySchemes: { bearer: { httpAuthSecurityScheme: { ...value, bearerFormt: "JWT" } } } });
    expect(slip.faults[0]).toContain("securitySchemes.bearer.httpAuthSecurityScheme.bearerFormt is not known");
  });

  it("has one kind of security scheme in each, and one flow of OAuth 2.0", () => {
    const apiKeySecurityScheme = { location: "header", name: "x-key" };
    const both = { apiKeySecurityScheme, httpAuthSecurityScheme: { scheme: "bearer" } };
    expect(check({ securitySchemes: { both } }).faults).toEqual([
      "securitySchemes.both has apiKeySecurityScheme and httpAuthSecurityScheme: give one of them",
    ]);
    const value = { scheme: "bearer" };
    const mixed = { apiKeySecurityScheme, scheme: { case: "httpAuthSecurityScheme", value } };
    expect(check({ securitySchemes: { mixed } }).faults).toEqual([
      "securitySchemes.mixed has apiKeySecurityScheme and scheme: give one of them",
    ]);
    const flow = { tokenUrl: "https://example.org/token", scopes: {} };
    const flows = { clientCredentials: flow, password: flow };
    expect(check({ securitySchemes: { oauth: { oauth2SecurityScheme: { flows } } } }).faults).toEqual([
      "securitySchemes.oauth.oauth2SecurityScheme.flows has clientCredentials and password: give one of them",
    ]);
  });

  it("keeps values of its own, such as the parameters of an extension", () => {
    const extensions = [{ uri: "urn:x", params: { anything: { nested: true } } }];
    const { card, faults } = check({ capabilities: { extensions } });
    expect(faults).toEqual([]);
    expect(card.capabilities?.extensions[0]?.params).toEqual({ anything: { nested: true } });
  });
});
