import { create, fromJson } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { type AgentCard, AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { buildCard } from "../../src/card/build.js";
import { type Caching, cardText, createDocuments, type DocumentAnswer } from "../../src/card/documents.js";
import { interfacesOf, withInterfaces } from "../../src/card/interfaces.js";
import { servedVersions } from "../../src/version/versions.js";

const since = new Date("2026-01-02T03:04:05.678Z");
const card = (name = "Probe"): AgentCard =>
  buildCard(
    { name, description: "Answers.", version: "1.0.0" },
    { pushNotifications: false, extendedAgentCard: false, extensions: [] },
  );

function ask(conditions: Record<string, string> = {}, caching: Partial<Caching> = {}): DocumentAnswer {
  const { now: answer } = createDocuments("application/json", { maxAgeSeconds: 300, since, vary: [], ...caching });
  const { ifNoneMatch, ifModifiedSince } = conditions;
  return answer("k", () => cardText(card()), { ifNoneMatch, ifModifiedSince });
}

const tagOf = ({ headers }: DocumentAnswer): string | undefined => new Map(headers).get("etag");

describe("createDocuments()", () => {
  it("answers with the JSON of the card, REQUIRED fields and all, and how long it may be kept", () => {
    const { status, type, headers, body } = ask();
    expect([status, type]).toEqual([200, "application/json"]);
    expect(Object.fromEntries(headers)).toEqual({
      "cache-control": "public, max-age=300",
      "last-modified": "Fri, 02 Jan 2026 03:04:05 GMT",
      etag: expect.stringMatching(/^"[\w-]{43}"$/),
    });
    const json = JSON.parse(String(body));
    expect(json).toMatchObject({ name: "Probe", skills: [], supportedInterfaces: [] });
    expect(fromJson(AgentCardSchema, json)).toEqual(card());
  });

  it("says which headers the content depends on", () => {
    const { headers } = ask({}, { vary: ["Forwarded", "X-Forwarded-Host"], maxAgeSeconds: 0 });
    expect(Object.fromEntries(headers)).toMatchObject({
      vary: "Forwarded, X-Forwarded-Host",
      "cache-control": "public, max-age=0",
    });
  });

  it("has one tag for one content", () => {
    const { now: answer } = createDocuments("application/json", { maxAgeSeconds: 300, since, vary: [] });
    const none = { ifNoneMatch: undefined, ifModifiedSince: undefined };
    const tag = (key: string, name: string): unknown => tagOf(answer(key, () => cardText(card(name)), none));
    expect(tag("a", "A")).toBe(tag("b", "A"));
    expect(tag("c", "C")).not.toBe(tag("a", "A"));
  });

  it("renders a card once, and does not keep more of them than it needs", () => {
    const { now: answer } = createDocuments("application/json", { maxAgeSeconds: 300, since, vary: [] });
    const none = { ifNoneMatch: undefined, ifModifiedSince: undefined };
    let made = 0;
    const make = (): string => {
      made++;
      return cardText(card());
    };
    const get = (key: string): unknown => answer(key, make, none);
    get("first");
    get("first");
    expect(made).toBe(1);
    for (let i = 0; i < 256; i++) get(`other ${i}`);
    get("first");
    expect(made).toBe(258);
  });

  it("sends no content to a reader that has it already", () => {
    const etag = tagOf(ask()) ?? "";
    const tags = [etag, `W/${etag}`, `"x", ${etag}`, `"x",W/${etag},"y"`, "*"];
    for (const ifNoneMatch of tags) {
      const { status, headers, body } = ask({ ifNoneMatch });
      expect({ ifNoneMatch, status, body }).toEqual({ ifNoneMatch, status: 304, body: undefined });
      expect(Object.fromEntries(headers)).toMatchObject({ etag, "cache-control": "public, max-age=300" });
    }
    for (const ifModifiedSince of ["Fri, 02 Jan 2026 03:04:05 GMT", "Sat, 03 Jan 2026 03:04:05 GMT"]) {
      expect(ask({ ifModifiedSince }).status).toBe(304);
    }
  });

  it("answers in full to a reader that has something else", () => {
    for (const ifNoneMatch of ["", '"x"', "x", 'W/"x", "y"']) expect(ask({ ifNoneMatch }).status).toBe(200);
    for (const ifModifiedSince of ["Fri, 02 Jan 2026 03:04:04 GMT", "yesterday", ""]) {
      expect(ask({ ifModifiedSince }).status).toBe(200);
    }
  });

  it("lets the tag decide when a date is sent with it", () => {
    const ifModifiedSince = "Sat, 03 Jan 2026 03:04:05 GMT";
    expect(ask({ ifNoneMatch: '"x"', ifModifiedSince }).status).toBe(200);
  });
});

describe("interfacesOf()", () => {
  it("lists gRPC first, then every binding of the HTTP port", () => {
    const list = interfacesOf({ url: "https://example.org/a", grpc: "example.org:50051", tenant: "t" });
    expect(list.map((entry) => [entry.url, entry.protocolBinding, entry.protocolVersion, entry.tenant])).toEqual([
      ["example.org:50051", "GRPC", "1.0", "t"],
      ["https://example.org/a", "JSONRPC", "1.0", "t"],
      ["https://example.org/a", "HTTP+JSON", "1.0", "t"],
      ["https://example.org/a", "urn:parley:binding:connect:v1", "1.0", "t"],
      // Messages of these versions have no tenant.
      ["https://example.org/a/t", "JSONRPC", "0.3", ""],
      ["https://example.org/a/t", "HTTP+JSON", "0.3", ""],
      ["https://example.org/a/t/", "JSONRPC", "0.2", ""],
      ["https://example.org/a/t", "JSONRPC", "0.1", ""],
    ]);
  });

  it("names no URL for a tenant that is no segment of a path, or where there is none", () => {
    const versions = (url: string | undefined, tenant: string): string[] =>
      interfacesOf({ url, grpc: "example.org:50051", tenant }).map((entry) => entry.protocolVersion);
    for (const tenant of [".", ".."])
      expect(new Set(versions("https://example.org", tenant))).toEqual(new Set(["1.0"]));
    expect(versions(undefined, "t")).toEqual(["1.0"]);
    expect(interfacesOf({ url: "https://a.example", grpc: undefined, tenant: "ä/b" }).at(-1)?.url).toBe(
      "https://a.example/%C3%A4%2Fb",
    );
  });

  it("leaves out what does not listen", () => {
    const bindings = (url?: string, grpc?: string): string[] =>
      interfacesOf({ url, grpc, tenant: "" }, servedVersions.only([])).map((entry) => entry.protocolBinding);
    expect(bindings("http://localhost")).toEqual(["JSONRPC", "HTTP+JSON", "urn:parley:binding:connect:v1"]);
    expect(bindings(undefined, "localhost:1")).toEqual(["GRPC"]);
  });
});

describe("withInterfaces()", () => {
  it("puts the server's interfaces before the author's, on a copy", () => {
    const own = { url: "https://old.example.org", protocolBinding: "JSONRPC", protocolVersion: "0.3" };
    const before = create(AgentCardSchema, { name: "Probe", supportedInterfaces: [own] });
    const after = withInterfaces(
      before,
      interfacesOf({ url: "http://localhost", grpc: undefined, tenant: "" }, servedVersions.only([])),
    );
    expect(after.supportedInterfaces.map((entry) => entry.url)).toEqual([
      "http://localhost",
      "http://localhost",
      "http://localhost",
      "https://old.example.org",
    ]);
    expect(before.supportedInterfaces).toHaveLength(1);
  });
});
