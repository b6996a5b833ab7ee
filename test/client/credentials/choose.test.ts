import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type AgentCard, AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { apiKey } from "../../../src/client/credentials/api-key.js";
import { basic } from "../../../src/client/credentials/basic.js";
import { bearer } from "../../../src/client/credentials/bearer.js";
import { type ChooseOptions, chooseCredentials, clientCertificate } from "../../../src/client/credentials/choose.js";
import type { Credential, Credentials } from "../../../src/client/credentials/credential.js";

const schemes = {
  key: { apiKeySecurityScheme: { location: "header", name: "X-Key" } },
  otherKey: { apiKeySecurityScheme: { location: "header", name: "x-key" } },
  third: { apiKeySecurityScheme: { location: "cookie", name: "third" } },
  queried: { apiKeySecurityScheme: { location: "query", name: "key" } },
  token: { httpAuthSecurityScheme: { scheme: "BEARER" } },
  name: { httpAuthSecurityScheme: { scheme: "basic" } },
  digest: { httpAuthSecurityScheme: { scheme: "Digest" } },
  oauth: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: "https://i.example/t", scopes: {} } } } },
  oidc: { openIdConnectSecurityScheme: { openIdConnectUrl: "https://i.example/.well-known/openid-configuration" } },
  mtls: { mtlsSecurityScheme: {} },
  unknown: {},
  here: { apiKeySecurityScheme: { location: "elsewhere", name: "x-key" } },
  host: { apiKeySecurityScheme: { location: "header", name: "Host" } },
  broken: { apiKeySecurityScheme: { location: "header", name: "x key: 1\r\n" } },
};

type Requirement = string | Record<string, string[]>;
const required = (all: readonly Requirement[]): JsonObject[] =>
  all.map((each) => {
    const scopes = typeof each === "string" ? { [each]: [] } : each;
    return { schemes: Object.fromEntries(Object.entries(scopes).map(([name, list]) => [name, { list }])) };
  });

interface Given {
  readonly require?: readonly Requirement[];
  readonly skills?: Readonly<Record<string, readonly Requirement[]>>;
  readonly declared?: readonly string[];
}

function cardOf({ require = [], skills = {}, declared }: Given): AgentCard {
  const known = Object.entries(schemes).filter(([name]) => declared?.includes(name) ?? true);
  return fromJson(AgentCardSchema, {
    name: "Any",
    securitySchemes: Object.fromEntries(known),
    securityRequirements: required(require),
    skills: Object.entries(skills).map(([id, all]) => ({ id, securityRequirements: required(all) })),
  });
}

const k = apiKey("k");
const t = bearer("t");
const b = basic("n", "p");
const c = clientCertificate();
const other = apiKey("other");
const anything: Credential = { fits: ({ scheme }) => scheme.case === undefined, apply: () => {} };

interface Case extends Given, ChooseOptions {
  readonly it: string;
  readonly with?: Credentials;
  /** Schemes in order, with their scopes and credentials, or "unmet". Empty if no scheme is needed. */
  readonly chosen: readonly (readonly [string, Credential, ...string[]])[] | "unmet";
}

const cases: readonly Case[] = [
  { it: "nothing where nothing is required or given", chosen: [] },
  { it: "nothing where nothing was given", require: ["key"], chosen: [] },
  { it: "a scheme that fits", require: ["key"], with: k, chosen: [["key", k]] },
  { it: "the first requirement that can be met", require: ["oauth", "name", "key"], with: b, chosen: [["name", b]] },
  { it: "the card's order, not the caller's", require: ["key", "token"], with: [t, k], chosen: [["key", k]] },
  { it: "the first credential that fits", require: ["key"], with: [t, k, other], chosen: [["key", k]] },
  {
    it: "all schemes of one requirement",
    require: [{ key: [], token: ["read"] }],
    with: [t, k],
    chosen: [
      ["key", k],
      ["token", t, "read"],
    ],
  },
  { it: "nothing of a requirement that is met in part", require: [{ key: [], token: [] }], with: k, chosen: "unmet" },
  {
    it: "another one, where the first is met in part",
    require: [{ key: [], token: [] }, "key"],
    with: k,
    chosen: [["key", k]],
  },
  { it: "scopes of OAuth 2.0", require: [{ oauth: ["a", "b"] }], with: t, chosen: [["oauth", t, "a", "b"]] },
  { it: "a token for OpenID Connect", require: [{ oidc: ["openid"] }], with: t, chosen: [["oidc", t, "openid"]] },
  { it: "Basic for Basic alone", require: ["token"], with: b, chosen: "unmet" },
  { it: "no bearer token for another HTTP scheme", require: ["digest"], with: [t, b, k], chosen: "unmet" },
  { it: "a client certificate", require: ["mtls"], with: c, chosen: [["mtls", c]] },
  {
    it: "a certificate of the connection",
    require: [{ mtls: [], key: [] }],
    with: k,
    certificate: true,
    chosen: [
      ["mtls", expect.anything() as never],
      ["key", k],
    ],
  },
  { it: "that alone", require: ["mtls"], certificate: true, chosen: [["mtls", expect.anything() as never]] },
  { it: "none that there is not", require: ["mtls"], with: k, chosen: "unmet" },
  { it: "nothing for a card that requires nothing and names nothing", declared: [], with: [k, t], chosen: [] },
  { it: "what fits a card that requires nothing", declared: ["name", "token"], with: t, chosen: [["token", t]] },
  { it: "nothing where nothing of that fits either", declared: ["name"], with: t, chosen: [] },
  { it: "credentials before none at all", require: [{}, "key"], with: k, chosen: [["key", k]] },
  { it: "none at all where that may be", require: ["token", {}], with: k, chosen: [] },
  { it: "by name", require: ["key"], with: { key: k, third: other }, chosen: [["key", k]] },
  {
    it: "each by its name",
    require: [{ key: [], third: [] }],
    with: { third: other, key: k },
    chosen: [
      ["key", k],
      ["third", other],
    ],
  },
  { it: "none that has another name", require: ["key"], with: { third: k }, chosen: "unmet" },
  { it: "none whose name does not fit it", require: ["key"], with: { key: t }, chosen: "unmet" },
  { it: "no name of every object", require: ["constructor"], with: { key: k }, chosen: "unmet" },
  { it: "nothing for a scheme that is not declared", require: ["missing"], with: [k, t, b, c], chosen: "unmet" },
  { it: "nothing for an unknown kind", require: ["unknown"], with: [k, t, b, c], chosen: "unmet" },
  {
    it: "a credential of the caller's own making",
    require: ["unknown"],
    with: anything,
    chosen: [["unknown", anything]],
  },
  { it: "another requirement than one of an unknown kind", require: ["unknown", "key"], with: k, chosen: [["key", k]] },
  { it: "no key for an unknown place", require: ["here"], with: k, chosen: "unmet" },
  { it: "no key for a header of the connection", require: ["host"], with: k, chosen: "unmet" },
  { it: "no key for what is no name of a header", require: ["broken"], with: k, chosen: "unmet" },
  { it: "a query where there is one", require: ["queried"], with: k, chosen: [["queried", k]] },
  { it: "no query where there is none", require: ["queried", "third"], with: k, query: false, chosen: [["third", k]] },
  { it: "not two for one header", require: [{ token: [], name: [] }], with: [t, b], chosen: "unmet" },
  {
    it: "not two keys for one",
    require: [{ key: [], otherKey: [] }],
    with: { key: k, otherKey: other },
    chosen: "unmet",
  },
  {
    it: "one token for two schemes",
    require: [{ oauth: ["a"], oidc: [] }],
    with: t,
    chosen: [
      ["oauth", t, "a"],
      ["oidc", t],
    ],
  },
  {
    it: "what a skill requires besides",
    require: [{ oauth: ["read"] }],
    skills: { write: [{ oauth: ["write"], key: [] }] },
    skill: "write",
    with: [t, k],
    chosen: [
      ["oauth", t, "read", "write"],
      ["key", k],
    ],
  },
  {
    it: "the requirements of the agent and the skill that go together",
    require: ["token", "name"],
    skills: { write: ["key", "third"] },
    skill: "write",
    with: { name: b, third: k },
    chosen: [
      ["name", b],
      ["third", k],
    ],
  },
  { it: "a skill's alone", skills: { write: ["key"] }, skill: "write", with: k, chosen: [["key", k]] },
  {
    it: "the agent's for other skills",
    require: ["token"],
    skills: { w: ["key"] },
    skill: "r",
    with: [t, k],
    chosen: [["token", t]],
  },
  {
    it: "the agent's without a skill",
    require: ["token"],
    skills: { w: ["key"] },
    with: [t, k],
    chosen: [["token", t]],
  },
  {
    it: "nothing where the skill's are not met",
    require: ["token"],
    skills: { w: ["key"] },
    skill: "w",
    with: t,
    chosen: "unmet",
  },
  {
    it: "the skill's where the agent takes anybody",
    require: [{}],
    skills: { w: ["key"] },
    skill: "w",
    with: k,
    chosen: [["key", k]],
  },
];

describe("chooseCredentials() chooses", () => {
  it.each(cases)("$it", ({ with: credentials, chosen, it: _it, require, skills, declared, ...options }) => {
    const card = cardOf({ require, skills, declared } as Given);
    const choice = chooseCredentials(card, credentials, options);
    expect(choice.unmet !== undefined).toBe(chosen === "unmet");
    const expected = chosen === "unmet" ? [] : chosen;
    expect(choice.schemes).toEqual(
      expected.map(([name, credential, ...scopes]) => ({
        name,
        credential,
        scopes,
        scheme: card.securitySchemes[name],
      })),
    );
    // Compares identity, because equal credentials may be different objects.
    expected.forEach(([, credential], i) => {
      if (typeof credential.fits === "function") expect(choice.schemes[i]?.credential).toBe(credential);
    });
  });

  it("says what is missing, by the names of the card", () => {
    const card = cardOf({ require: [{ key: [], oauth: ["x"] }, "missing"] });
    expect(chooseCredentials(card, { kye: k }).unmet).toBe(
      'The credentials that were given are not those that the agent requires: "key" (an API key) with "oauth" (OAuth 2.0), or "missing", which the card does not declare. The card has no "kye".',
    );
  });

  it("bounds what a card of somebody else costs", () => {
    const many = Array.from({ length: 5_000 }, (_, i) => ({ [`n${i}`]: [], unknown: [] }));
    const card = cardOf({ require: many, skills: { s: many } });
    const { unmet = "" } = chooseCredentials(card, k, { skill: "s" });
    expect(unmet.length).toBeLessThan(4_096);
  });

  it("says nothing that a terminal would obey", () => {
    const name = "\u001b[2J\u202e";
    const card = cardOf({ require: [name] });
    expect(chooseCredentials(card, k).unmet).toMatch(/^[\x20-\x7e…]+$/);
  });
});
