import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { AgentCardSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import {
  bindings,
  type Candidate,
  type Choosing,
  candidatesOf,
  isSameInterface,
} from "../../src/client/discovery/interfaces.js";
import type { A2AError } from "../../src/core/error.js";

const CONNECT = "urn:parley:binding:connect:v1";

type Declared = readonly [binding: string, url: string, version?: string];

function choose(declared: readonly Declared[], choosing: Partial<Choosing> = {}) {
  const card = create(AgentCardSchema, {
    supportedInterfaces: declared.map(([protocolBinding, url, protocolVersion = "1.0"]) => ({
      protocolBinding,
      url,
      protocolVersion,
    })),
  });
  return candidatesOf(card, {
    available: new Set(bindings),
    only: undefined,
    prefer: [],
    cardUrl: "https://a.example/card.json",
    allowHttp: false,
    plaintextGrpc: undefined,
    maxInterfaces: 64,
    ...choosing,
  }).map(({ binding, url, version }) => `${binding} ${url}${version === "1.0" ? "" : ` ${version}`}`);
}

function errorOf(declared: readonly Declared[], choosing: Partial<Choosing> = {}): A2AError {
  try {
    choose(declared, choosing);
  } catch (error) {
    return error as A2AError;
  }
  return expect.fail("there was a candidate");
}

const all: readonly Declared[] = [
  ["GRPC", "a.example:50051"],
  ["JSONRPC", "https://a.example/"],
  ["HTTP+JSON", "https://a.example/rest/"],
  [CONNECT, "https://a.example"],
];

describe("candidatesOf()", () => {
  it("goes by the order of the card", () => {
    expect(choose(all)).toEqual([
      "GRPC https://a.example:50051",
      "JSONRPC https://a.example",
      "HTTP+JSON https://a.example/rest/",
      "CONNECT https://a.example",
    ]);
  });

  it("puts what the caller prefers first, and keeps the others behind", () => {
    expect(choose(all, { prefer: ["HTTP+JSON", "GRPC-WEB"] })).toEqual([
      "HTTP+JSON https://a.example/rest/",
      "GRPC-WEB https://a.example",
      "GRPC https://a.example:50051",
      "JSONRPC https://a.example",
      "CONNECT https://a.example",
    ]);
  });

  it("takes those alone that the caller names, in that order", () => {
    expect(choose(all, { only: ["CONNECT", "JSONRPC"] })).toEqual([
      "CONNECT https://a.example",
      "JSONRPC https://a.example",
    ]);
    expect(errorOf(all.slice(0, 1), { only: ["CONNECT"] })).toMatchObject({
      reason: "UNSUPPORTED_OPERATION",
      message: "The agent has GRPC 1.0 at a.example:50051; this client can call CONNECT.",
    });
  });

  it("leaves out what the platform does not have", () => {
    expect(choose(all, { available: new Set(["JSONRPC"]) })).toEqual(["JSONRPC https://a.example"]);
  });

  it("ignores bindings and URLs that it does not know", () => {
    const odd: Declared[] = [
      ["", "https://a.example"],
      ["https://example.org/websocket/v1", "wss://a.example"],
      ["JSONRPC", "ftp://a.example"],
      ["JSONRPC", ""],
      ["JSONRPC", "https://user:pass@a.example"],
      ["GRPC", "a.example:99999"],
      ["GRPC", "unix:/tmp/x"],
      ["GRPC", ""],
      ["HTTP+JSON", "http://["],
    ];
    expect(choose([...odd, ["jsonrpc", "https://b.example"]])).toContain("JSONRPC https://b.example");
    expect(errorOf(odd, { cardUrl: undefined })).toMatchObject({
      reason: "UNSUPPORTED_OPERATION",
      message: expect.stringContaining(
        "The agent has no binding 1.0 at https://a.example, https://example.org/websocket",
      ),
    });
    expect(errorOf([])).toMatchObject({ message: expect.stringContaining("The agent has no interface;") });
  });

  it("takes a URL without a host for one of the card's", () => {
    expect(choose([["JSONRPC", "/rpc"]])).toEqual(["JSONRPC https://a.example/rpc"]);
    expect(errorOf([["JSONRPC", "/rpc"]], { cardUrl: undefined }).reason).toBe("UNSUPPORTED_OPERATION");
  });

  it.each(["", " ", "#rpc", "?key=value"])("rejects the URL %j, which has no path of its own", (url) => {
    for (const binding of ["JSONRPC", "HTTP+JSON", CONNECT, "GRPC"]) {
      expect(errorOf([[binding, url]])).toMatchObject({
        reason: "UNSUPPORTED_OPERATION",
        message: expect.stringContaining(`The agent has ${binding} 1.0 at ${url || "no URL"};`),
      });
      expect(
        choose([
          [binding, url],
          ["JSONRPC", "https://a.example/rpc"],
        ]),
      ).toEqual(["JSONRPC https://a.example/rpc"]);
    }
  });

  it.each([
    ["a.example:1", "https://a.example/c", "https://a.example:1"],
    ["a.example:1", "http://a.example/c", "http://a.example:1"],
    ["a.example:443", "http://a.example/c", "https://a.example"],
    ["a.example:1", undefined, "https://a.example:1"],
    ["127.0.0.1:1", undefined, "http://127.0.0.1:1"],
    ["localhost:1", undefined, "http://localhost:1"],
    ["[::1]:1", undefined, "http://[::1]:1"],
    ["127.0.0.1:1", "https://localhost/c", "https://127.0.0.1:1"],
    ["grpcs://a.example:1", "http://a.example/c", "https://a.example:1"],
    ["grpc://127.0.0.1:1", undefined, "http://127.0.0.1:1"],
    ["dns:///a.example:1", undefined, "https://a.example:1"],
    ["https://a.example:1", "http://a.example/c", "https://a.example:1"],
    ["http://a.example:1", "http://a.example/c", "http://a.example:1"],
  ])("calls gRPC at %s of a card at %s by %s", (url, cardUrl, called) => {
    expect(choose([["GRPC", url]], { cardUrl })).toEqual([`GRPC ${called}`]);
  });

  it("calls gRPC without TLS, or with it, where the caller says so", () => {
    const declared: Declared[] = [["GRPC", "127.0.0.1:1"]];
    expect(choose(declared, { cardUrl: undefined, plaintextGrpc: false })).toEqual(["GRPC https://127.0.0.1:1"]);
    const other = choose([["GRPC", "a.example:1"]], { cardUrl: undefined, plaintextGrpc: true });
    expect(other).toEqual(["GRPC http://a.example:1"]);
  });

  describe("versions", () => {
    it("takes those of 1, and the one it knows best before others", () => {
      expect(choose([["JSONRPC", "https://a.example", "1.1"]])).toEqual(["JSONRPC https://a.example 1.1"]);
      expect(
        choose([
          ["GRPC", "a.example:1", "1.1"],
          ["JSONRPC", "https://a.example", "1.0.1"],
          ["JSONRPC", "https://old.example", "0.3"],
        ]),
      ).toEqual(["JSONRPC https://a.example"]);
      for (const version of ["", "1", "v1.0", " 1.0.0 "]) {
        expect(choose([["JSONRPC", "https://a.example", version]]), version).toEqual(["JSONRPC https://a.example"]);
      }
    });

    it("takes those before 1.0 where there is nothing newer, the newest of them", () => {
      const older: Declared[] = [
        ["JSONRPC", "https://a.example/first", "0.1"],
        ["GRPC", "a.example:1", "0.3.0"],
        ["JSONRPC", "https://a.example/second", "v0.1.0"],
      ];
      expect(choose(older)).toEqual(["GRPC https://a.example:1 0.3"]);
      expect(choose([...older, ["HTTP+JSON", "https://a.example", "1.0"]])).toEqual(["HTTP+JSON https://a.example"]);
      // Version 0.1 has only the binding JSONRPC.
      expect(choose([["GRPC", "a.example:1", "0.1"], ...older.slice(2)])).toEqual([
        "JSONRPC https://a.example/second 0.1",
      ]);
      expect(choose(older, { only: ["JSONRPC"] })).toEqual([
        "JSONRPC https://a.example/first 0.1",
        "JSONRPC https://a.example/second 0.1",
      ]);
    });

    it("says which ones the agent speaks where there is none in common", () => {
      const declared: Declared[] = [
        ["JSONRPC", "https://a.example", "0.0.9"],
        ["GRPC", "a.example:1", "0.0"],
        ["JSONRPC", "https://a.example", "2.0"],
      ];
      expect(errorOf(declared)).toMatchObject({
        reason: "VERSION_NOT_SUPPORTED",
        message: expect.stringMatching(
          /^The agent of https:\/\/a\.example\/card\.json speaks A2A 0\.0, 2\.0; this client speaks 1\.0, 0\.3, .*0\.1\.$/,
        ),
        metadata: { supportedVersions: "0.0, 2.0" },
      });
    });
  });

  describe("encryption", () => {
    it("is not given up for another interface", () => {
      const declared: Declared[] = [
        ["JSONRPC", "http://a.example"],
        ["HTTP+JSON", "https://a.example"],
        ["GRPC", "http://127.0.0.1:1"],
      ];
      const safe = ["HTTP+JSON https://a.example", "GRPC http://127.0.0.1:1"];
      expect(choose(declared)).toEqual(safe);
      expect(choose(declared, { cardUrl: undefined })).toEqual(safe);
      expect(choose(declared, { allowHttp: true })).toEqual(["JSONRPC http://a.example", ...safe]);
      expect(errorOf(declared.slice(0, 1))).toMatchObject({
        reason: "UNSUPPORTED_OPERATION",
        message: "The agent's card is encrypted, and its interfaces are not: http://a.example. (allowHttp)",
      });
    });

    it("is not demanded where there was none before", () => {
      const declared: Declared[] = [["JSONRPC", "http://a.example"]];
      expect(choose(declared, { cardUrl: "http://a.example" })).toEqual(["JSONRPC http://a.example"]);
      expect(choose(declared, { cardUrl: undefined })).toEqual(["JSONRPC http://a.example"]);
    });
  });

  it("looks at a bounded number of interfaces", () => {
    const many = Array.from({ length: 100 }, (_, i): Declared => ["JSONRPC", `https://${i}.example`]);
    expect(choose(many, { maxInterfaces: 3 })).toHaveLength(3);
  });
});

describe("isSameInterface()", () => {
  const made = (change: Partial<Candidate>, tenant = "") =>
    ({ binding: "JSONRPC", url: "https://a.example", version: "1.0", declared: { tenant }, ...change }) as Candidate;

  it("is true for two readings of a card", () => {
    expect(isSameInterface(made({}), made({}))).toBe(true);
  });

  it.each([
    made({ binding: "CONNECT" }),
    made({ url: "https://a.example/a2a" }),
    made({ version: "0.3" }),
    made({}, "t"),
  ])("is false for another binding, URL, version or tenant: %o", (other) => {
    expect(isSameInterface(made({}), other)).toBe(false);
  });
});
