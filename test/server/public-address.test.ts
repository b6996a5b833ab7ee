import { isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { forwardedBy, type ProxyHeaders, type RequestOrigin } from "../../src/http/forwarded.js";
import { type AddressSources, PublicAddress } from "../../src/server/public-address.js";

const none: AddressSources = {
  publicUrl: undefined,
  grpcPublicUrl: undefined,
  cardGrpc: "address",
  trust: undefined,
};
const trust = (address: string): boolean => address.startsWith("10.");

function origin(headers: Record<string, string> = {}, more: Partial<RequestOrigin> = {}): RequestOrigin {
  return { header: (name) => headers[name], address: "10.0.0.1", encrypted: false, mount: "", ...more };
}

function listening(sources: Partial<AddressSources>, host = "127.0.0.1", encrypted = false): PublicAddress {
  const address = new PublicAddress({ ...none, ...sources });
  address.listening({ host, port: 8080, encrypted }, { host, port: 50051, encrypted });
  return address;
}

const both = (address: PublicAddress, from?: RequestOrigin): unknown => [address.url(from), address.grpc(from)];

describe("PublicAddress", () => {
  it("is where the server listens", () => {
    expect(both(listening({}))).toEqual(["http://127.0.0.1:8080", "127.0.0.1:50051"]);
    expect(both(listening({}, "agents.example.org", true))).toEqual([
      "https://agents.example.org:8080",
      "agents.example.org:50051",
    ]);
  });

  it("names this machine where it listens on every address", () => {
    for (const host of ["0.0.0.0", "::"]) {
      expect(both(listening({}, host))).toEqual(["http://localhost:8080", "localhost:50051"]);
    }
  });

  it("puts IPv6 into brackets", () => {
    expect(both(listening({}, "::1"))).toEqual(["http://[::1]:8080", "[::1]:50051"]);
  });

  it("is the configured one before all others", () => {
    const address = listening({ publicUrl: "https://example.org/agents", trust });
    const proxied = origin({ "x-forwarded-host": "other.example" });
    expect(both(address, proxied)).toEqual(["https://example.org/agents", "example.org:50051"]);
    const grpcPublicUrl = "grpc.example.org:443";
    expect(listening({ grpcPublicUrl, trust }).grpc(proxied)).toBe(grpcPublicUrl);
  });

  it("names gRPC in a card by its address, by the URL of the HTTP port, or not at all", () => {
    const grpcOf = (sources: Partial<AddressSources>): unknown => listening(sources).endpoints("").grpc;
    expect(grpcOf({})).toBe("127.0.0.1:50051");
    expect(grpcOf({ cardGrpc: "omit", grpcPublicUrl: "example.org:443" })).toBeUndefined();
    expect(grpcOf({ cardGrpc: "url", grpcPublicUrl: "grpc.example.org:443" })).toBe("http://127.0.0.1:8080");
    expect(grpcOf({ cardGrpc: "url", publicUrl: "https://example.org" })).toBe("https://example.org");
    // The path of a gRPC call begins with its service.
    expect(grpcOf({ cardGrpc: "url", publicUrl: "https://example.org/agents" })).toBeUndefined();
    const mounted = new PublicAddress({ ...none, cardGrpc: "url" }).endpoints("", origin({}, { mount: "/agents" }));
    expect(mounted).toMatchObject({ url: "http://localhost/agents", grpc: undefined });
  });

  it("omits gRPC where it has no port", () => {
    const address = new PublicAddress(none);
    address.listening({ host: "::1", port: 1, encrypted: false }, undefined);
    expect(address.grpc()).toBeUndefined();
  });

  it("is what a trusted proxy was asked for", () => {
    const address = listening({ trust });
    const proxied = origin({
      "x-forwarded-proto": "https, http",
      "x-forwarded-host": "example.org, inner",
      "x-forwarded-prefix": "/agents/",
    });
    expect(both(address, proxied)).toEqual(["https://example.org/agents", "example.org:50051"]);
    const standard = origin({ forwarded: 'for=192.0.2.1;Proto=HTTPS;host="example.org:8443"', host: "inner" });
    const byStandard = listening({ trust, proxyHeaders: "forwarded" });
    expect(both(byStandard, standard)).toEqual(["https://example.org:8443", "example.org:50051"]);
  });

  it("takes the host of the request where a trusted proxy names none", () => {
    const proxied = origin({ "x-forwarded-proto": "https", host: "example.org" });
    expect(listening({ trust }).url(proxied)).toBe("https://example.org");
    expect(listening({ trust }).url(origin({ "x-forwarded-proto": "https" }))).toBe("https://127.0.0.1:8080");
  });

  it("does not listen to strangers", () => {
    const headers = { "x-forwarded-host": "evil.example", forwarded: "host=evil.example", host: "evil.example" };
    expect(listening({}).url(origin(headers))).toBe("http://127.0.0.1:8080");
    expect(listening({ trust }).url(origin(headers, { address: "192.0.2.1" }))).toBe("http://127.0.0.1:8080");
  });

  it("takes nothing for a host or a prefix that is none", () => {
    const address = listening({ trust });
    for (const host of ["evil.example/path", "a@b", "", "a b", "[::1", "host:port", "a:123456"]) {
      expect(address.url(origin({ "x-forwarded-host": host }))).toBe("http://127.0.0.1:8080");
    }
    for (const prefix of ["//evil.example", "agents", "/a?b", "/a#b", "/a b", "/"]) {
      const proxied = origin({ "x-forwarded-host": "example.org", "x-forwarded-prefix": prefix });
      expect(address.url(proxied)).toBe("http://example.org");
    }
    expect(address.url(origin({ "x-forwarded-proto": "javascript", host: "h" }))).toBe("http://h");
  });

  it("is where the client found the handler that another server mounts", () => {
    const address = new PublicAddress({ ...none, trust });
    const direct = { address: "192.0.2.1", mount: "/agents" };
    expect(both(address)).toEqual(["http://localhost", undefined]);
    expect(address.url(origin({ host: "example.org:3000" }, direct))).toBe("http://example.org:3000/agents");
    expect(address.url(origin({ ":authority": "example.org" }, { ...direct, encrypted: true }))).toBe(
      "https://example.org/agents",
    );
    expect(address.url(origin({ host: "a b" }, direct))).toBe("http://localhost/agents");
    const proxied = origin({ "x-forwarded-host": "example.org", "x-forwarded-prefix": "/p" }, { mount: "/agents" });
    expect(address.url(proxied)).toBe("http://example.org/p/agents");
  });
});

describe("forwardedBy()", () => {
  const client = (headers: Record<string, string>, kind?: ProxyHeaders): unknown =>
    forwardedBy(origin(headers), trust, kind)?.client;

  it("believes an element as far as proxies before it are trusted", () => {
    const inner = "for=10.0.0.2;host=inner";
    const host = (forwarded: string): unknown => forwardedBy(origin({ forwarded }), trust, "forwarded")?.host;
    expect(host(`for=192.0.2.1;host=example.org, ${inner}`)).toBe("example.org");
    expect(host(`host=evil.example, for=192.0.2.1;host=example.org, ${inner}`)).toBe("example.org");
    expect(host('for="[2001:db8::1]:1";host="a,b;c", for="10.0.0.3:80";host=x')).toBeUndefined();
  });

  it.each([
    ["198.51.100.1, 192.0.2.1, 10.0.0.2", "192.0.2.1"],
    ["10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["192.0.2.1:49152", "192.0.2.1"],
    ["192.0.2.1, 10.0.0.2:49152", "192.0.2.1"],
    ["2001:db8::1", "2001:db8::1"],
    ["[2001:db8::1]", "2001:db8::1"],
    ["[2001:db8::1]:49152", "2001:db8::1"],
    ["", undefined],
    ["unknown", undefined],
    ["192.0.2.1, evil", undefined],
    ["192.0.2.1.1", undefined],
  ])("finds the client in X-Forwarded-For: %s", (chain, address) => {
    expect(client({ "x-forwarded-for": chain })).toBe(address);
  });

  it.each([
    ['for="[2001:db8::1]:1234"', "2001:db8::1"],
    ["for=192.0.2.1:80", "192.0.2.1"],
    ['for=""', undefined],
    ["for=unknown", undefined],
    ["for=_hidden", undefined],
    ["for=198.51.100.1, for=_hidden", undefined],
    ["proto=https", undefined],
    ['for=203.0.113.9;x=", for=192.0.2.1', undefined],
    ['for=203.0.113.9;x="\\, for="[2001:db8::1]"', undefined],
  ])("finds the client in Forwarded: %s", (forwarded, address) => {
    expect(client({ forwarded }, "forwarded")).toBe(address);
  });

  it("ignores headers of the kind that the proxy does not write", () => {
    const forged = {
      forwarded: "for=203.0.113.9;host=evil.example;proto=https",
      "x-forwarded-for": "203.0.113.9",
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "https",
      "x-forwarded-prefix": "/evil",
    };
    const { forwarded, ...older } = forged;
    expect(forwardedBy(origin({ forwarded }), trust)).toBeUndefined();
    expect(forwardedBy(origin(older), trust, "forwarded")).toBeUndefined();
    const real = { "x-forwarded-for": "192.0.2.1", "x-forwarded-host": "example.org" };
    expect(forwardedBy(origin({ forwarded, ...real }), trust)).toMatchObject({
      client: "192.0.2.1",
      host: "example.org",
      proto: undefined,
    });
    expect(forwardedBy(origin({ ...forged, forwarded: "for=192.0.2.1;host=example.org" }), trust, "forwarded")).toEqual(
      {
        client: "192.0.2.1",
        host: "example.org",
        proto: undefined,
        prefix: undefined,
      },
    );
  });

  it("takes from a trusted proxy nothing but addresses, whatever it writes", () => {
    const text = fc.oneof(fc.string(), fc.ipV4(), fc.ipV6(), fc.stringMatching(/^[\w.:[\],;="\\ -]{0,40}$/));
    fc.assert(
      fc.property(text, fc.constantFrom<ProxyHeaders>("x-forwarded", "forwarded"), (value, kind) => {
        const found = client({ "x-forwarded-for": value, forwarded: `for=${value}` }, kind);
        expect(found === undefined || isIP(found as string) !== 0).toBe(true);
      }),
    );
  });

  it("is silent where no proxy speaks or none is trusted", () => {
    expect(forwardedBy(origin(), trust)).toBeUndefined();
    expect(forwardedBy(origin(), trust, "forwarded")).toBeUndefined();
    const elsewhere = { address: "192.0.2.1" };
    expect(forwardedBy(origin({ "x-forwarded-host": "a" }, elsewhere), trust)).toBeUndefined();
    expect(forwardedBy(origin({ forwarded: "host=a" }, elsewhere), trust, "forwarded")).toBeUndefined();
  });
});
