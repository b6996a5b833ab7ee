import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { AgentCapabilitiesSchema, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentCardInput } from "../../src/agent/agent.js";
import { buildCard, checkCard, type ServerCapabilities } from "../../src/card/build.js";
import { ConfigurationError } from "../../src/card/faults.js";

const nothing: ServerCapabilities = { pushNotifications: false, extendedAgentCard: false, extensions: [] };
const plain: AgentCardInput = {
  name: "Probe",
  description: "Answers.",
  version: "1.0.0",
  skills: [{ id: "echo", name: "Echo", description: "Says it again.", tags: ["text"] }],
};
const faultsOf = (input: AgentCardInput): readonly string[] =>
  checkCard({ ...plain, ...input } as AgentCardInput, nothing).faults;

describe("buildCard()", () => {
  it("fills modes and capabilities that the author left open", () => {
    const card = buildCard(plain, { ...nothing, extensions: [{ uri: "urn:example:ext:v1" }] });
    expect(card.defaultInputModes).toEqual(["text/plain"]);
    expect(card.defaultOutputModes).toEqual(["text/plain"]);
    expect(card.capabilities).toMatchObject({ streaming: true, pushNotifications: false, extendedAgentCard: false });
    expect(card.capabilities?.extensions.map((extension) => extension.uri)).toEqual(["urn:example:ext:v1"]);
  });

  it("keeps what the author said", () => {
    const card = buildCard(
      {
        ...plain,
        defaultInputModes: ["image/*", "text/plain; charset=utf-8"],
        capabilities: { streaming: false, extendedAgentCard: true, extensions: [{ uri: "urn:example:own:v1" }] },
      },
      { ...nothing, extensions: [{ uri: "urn:example:ext:v1" }] },
    );
    expect(card.defaultInputModes).toEqual(["image/*", "text/plain; charset=utf-8"]);
    expect(card.capabilities).toMatchObject({ streaming: false, extendedAgentCard: true });
    expect(card.capabilities?.extensions.map((extension) => extension.uri)).toEqual([
      "urn:example:own:v1",
      "urn:example:ext:v1",
    ]);
  });

  it("takes the author's description of an extension that the server brings", () => {
    const own = { uri: "urn:example:ext:v1", description: "as this agent uses it" };
    const card = buildCard(
      { ...plain, capabilities: { extensions: [own] } },
      { ...nothing, extensions: [{ uri: own.uri, description: "as everybody does" }] },
    );
    expect(card.capabilities?.extensions).toMatchObject([own]);
  });

  it("lets the author switch a wired capability off", () => {
    const wired = { ...nothing, pushNotifications: true, extendedAgentCard: true };
    expect(buildCard(plain, wired).capabilities).toMatchObject({ pushNotifications: true, extendedAgentCard: true });
    const off = { pushNotifications: false, extendedAgentCard: false };
    expect(buildCard({ ...plain, capabilities: off }, wired).capabilities).toMatchObject(off);
  });

  it("leaves the author's own objects as they are", () => {
    const capabilities = create(AgentCapabilitiesSchema);
    const input = create(AgentCardSchema, { ...(plain as MessageInitShape<typeof AgentCardSchema>), capabilities });
    buildCard(input, { ...nothing, extensions: [{ uri: "urn:example:ext:v1" }] });
    expect(input.defaultInputModes).toEqual([]);
    expect(capabilities.streaming).toBeUndefined();
    expect(capabilities.extensions).toEqual([]);
  });

  it("names every fault at once", () => {
    const build = (): unknown => buildCard({ name: " ", skills: [{ id: "a", tags: [""] }] }, nothing);
    expect(build).toThrow(ConfigurationError);
    expect(build).toThrow(
      "The agent card is invalid: name is empty; description is empty; version is empty; skills[0].name is empty; " +
        "skills[0].description is empty; skills[0].tags[0] is empty",
    );
  });
});

describe("checkCard()", () => {
  const cases: [string, AgentCardInput, string[]][] = [
    ["nothing to complain about", {}, []],
    ["no skills at all", { skills: [] }, []],
    ["a skill without tags", { skills: [{ id: "a", name: "A", description: "a" }] }, ["skills[0].tags is empty"]],
    [
      "two skills of one id",
      { skills: [...(plain.skills ?? []), ...(plain.skills ?? [])] },
      [`skills has the id "echo" twice`],
    ],
    ["a provider without its name", { provider: { url: "https://example.org" } }, ["provider.organization is empty"]],
    [
      "links that are none",
      { provider: { url: "example", organization: "E" }, iconUrl: "/icon.png", documentationUrl: "docs" },
      [
        'provider.url "example" is not an absolute URL',
        'documentationUrl "docs" is not an absolute URL',
        'iconUrl "/icon.png" is not an absolute URL',
      ],
    ],
    [
      "modes that are no media types",
      {
        defaultInputModes: ["text"],
        skills: [{ id: "a", name: "A", description: "a", tags: ["a"], outputModes: ["text/"] }],
      },
      ['defaultInputModes[0] "text" is not a media type', 'skills[0].outputModes[0] "text/" is not a media type'],
    ],
    ["an extension without a URI", { capabilities: { extensions: [{}] } }, ["capabilities.extensions[0].uri is empty"]],
    [
      "an extension twice",
      { capabilities: { extensions: [{ uri: "urn:a" }, { uri: "urn:a" }] } },
      ['capabilities.extensions has "urn:a" twice'],
    ],
    [
      "requirements of schemes that are not declared",
      {
        securityRequirements: [{ schemes: { key: {} } }],
        skills: [
          { id: "a", name: "A", description: "a", tags: ["a"], securityRequirements: [{ schemes: { toString: {} } }] },
        ],
      },
      [
        'skills[0].securityRequirements[0] names the scheme "toString", which securitySchemes does not declare',
        'securityRequirements[0] names the scheme "key", which securitySchemes does not declare',
      ],
    ],
    [
      "schemes that are not complete",
      {
        securitySchemes: {
          none: {},
          key: { scheme: { case: "apiKeySecurityScheme", value: { location: "body", name: "" } } },
          oauth: { scheme: { case: "oauth2SecurityScheme", value: { flows: {} } } },
        },
      },
      [
        "securitySchemes.none sets none of apiKeySecurityScheme, httpAuthSecurityScheme, oauth2SecurityScheme, " +
          "openIdConnectSecurityScheme, mtlsSecurityScheme",
        "securitySchemes.key.apiKeySecurityScheme.name is empty",
        "securitySchemes.oauth.oauth2SecurityScheme.flows sets none of authorizationCode, clientCredentials, implicit, " +
          "password, deviceCode",
        'securitySchemes.key.location "body" is not one of header, query, cookie',
      ],
    ],
    [
      "an own interface without its binding",
      { supportedInterfaces: [{ url: "https://example.org", protocolVersion: "0.3" }] },
      ["supportedInterfaces[0].protocolBinding is empty"],
    ],
    [
      "push notifications that nobody sends",
      { capabilities: { pushNotifications: true } },
      [
        "capabilities.pushNotifications is true, but none are sent: they need the option push, and an agent that makes tasks",
      ],
    ],
    [
      "a signature over something else",
      { signatures: [{ protected: "e30", signature: "AA" }] },
      ["signatures cannot be given: the server completes the card, then signs it where cardSigning says so"],
    ],
  ];
  it.each(cases)("finds %s", (_what, input, faults) => {
    expect(faultsOf(input)).toEqual(faults);
  });

  it("finds what is no card at all", () => {
    const wrong = { ...plain, skills: "echo" } as unknown as AgentCardInput;
    expect(checkCard(wrong, nothing).faults[0]).toMatch(/^the card is not a valid AgentCard/);
    const number = { ...plain, name: 5 } as unknown as AgentCardInput;
    expect(checkCard(number, nothing).faults[0]).toMatch(/expected string, got 5/);
  });
});
