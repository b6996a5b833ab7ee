import { describe, expect, it } from "vitest";
import { jkuFault } from "../../src/card/signing/key-sets.js";
import { checkEncrypted } from "../../src/client/credentials/secret.js";
import { grpcUrl } from "../../src/client/node/platform.js";
import { checkUrl } from "../../src/client/oauth/issuer-place.js";
import {
  isAuthority,
  isDnsName,
  isHostName,
  isLoopback,
  isLoopbackHost,
  isUrlHost,
  withoutSecrets,
  withoutWildcard,
} from "../../src/core/net.js";
import { issuerUrlFaults } from "../../src/jwt/issuer.js";
import { resolveOptions } from "../../src/server/resolve-options.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { obedient } from "../conformance/agents.js";

const here = [
  "localhost",
  "LOCALHOST",
  "localhost.",
  "agent.localhost",
  "agent.localhost.",
  "127.0.0.1",
  "127.255.0.9",
  "127.1",
  "0x7f.0.0.1",
  "2130706433",
  "[::1]",
  "[0:0:0:0:0:0:0:1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
];
const elsewhere = [
  "a.example",
  "localhost.example",
  "alocalhost",
  "127.0.0.1.example",
  "127.evil.example",
  "128.0.0.1",
  "0.0.0.0",
  "[::2]",
  "[::]",
  "[::ffff:128.0.0.1]",
];

/** True if the call throws. */
function refuses(check: () => void): boolean {
  try {
    check();
    return false;
  } catch {
    return true;
  }
}

describe("isLoopback()", () => {
  it.each([...here.map((host) => [host, true] as const), ...elsewhere.map((host) => [host, false] as const)])(
    "says of %s %s, and so do all that depend on it",
    (host, isHere) => {
      expect(isLoopback(`https://${host}:8443/x`)).toBe(isHere);
      // Secrets are sent unencrypted only to this machine.
      expect(refuses(() => checkEncrypted(`http://${host}/`))).toBe(!isHere);
      // An agent's card must not choose an issuer on this machine.
      if (isHere) expect(refuses(() => checkUrl("it", `https://${host}/token`, { clientId: "c" }))).toBe(true);
      expect(refuses(() => checkUrl("it", `http://${host}/`, { clientId: "c", allowLocalIssuer: true }))).toBe(!isHere);
      expect(grpcUrl(`${host}:50051`)).toMatch(isHere ? /^http:/ : /^https:/);
      // Keys of issuers and cards are fetched unencrypted only from this machine.
      expect(issuerUrlFaults("it", `http://${host}/`).length > 0).toBe(!isHere);
      expect(jkuFault(`http://${host}/`) !== undefined).toBe(!isHere);
      // Only a server that other machines can reach accepts every host.
      const bare = host.replace(/^\[|\]$/g, "");
      expect(isLoopbackHost(bare)).toBe(isHere);
      const settings = resolveOptions({ agent: obedient("it"), store: memoryStore(), host: bare }, true);
      expect(settings.allowedHosts).toEqual(isHere ? [] : true);
    },
  );

  it("says false of a text that is not a URL", () => {
    expect(isLoopback("localhost")).toBe(false);
    expect(isLoopback("http://localhost:65536/")).toBe(false);
    expect(isLoopback("http://[fe80::1%25eth0]/")).toBe(false);
  });
});

describe("hosts", () => {
  it.each([
    // Hosts with the kinds that they match: authority, host name, DNS name, host of a URL.
    ["a.example", "authority name dns url"],
    ["A.example", "authority name dns url"],
    ["my_host", "authority name dns url"],
    ["_a.b-c.example", "authority name dns url"],
    ["a.example.", "authority name url"],
    ["a..example", "authority name url"],
    [`${"a".repeat(64)}.example`, "authority name url"],
    ["127.0.0.1", "authority name url"],
    ["10.1", "authority name url"],
    ["a.1", "authority name"],
    ["a-.example", "authority name url"],
    ["-a.example", "url"],
    ["a.example:443", "authority"],
    ["a.example:", ""],
    ["a.example:123456", ""],
    ["[::1]", "authority url"],
    ["[::1]:443", "authority"],
    ["[1.2.3]", "authority"],
    ["[::1", ""],
    ["::1", ""],
    ["münchen.example", "url"],
    ["*.example", "url"],
    ["a!b", "url"],
    ["a%41", "url"],
    ["", ""],
    [".", "url"],
    ["a b", ""],
    ["a\n", ""],
    ["user@a.example", ""],
    ["https://a.example", ""],
    ["a.example/", ""],
    ["a?b", ""],
    ["a#b", ""],
    ["a\\b", ""],
  ])("are told apart by their syntax: %j is %j", (text, kinds) => {
    const checks = { authority: isAuthority, name: isHostName, dns: isDnsName, url: isUrlHost };
    const found = Object.entries(checks).flatMap(([kind, check]) => (check(text) ? [kind] : []));
    expect(found.join(" ")).toBe(kinds);
  });

  it("stand in patterns after one wildcard", () => {
    expect(["*.a.example", "a.example", "*.*.a", "a.*.b", "*"].map(withoutWildcard)).toEqual([
      ...["a.example", "a.example", "*.a", "a.*.b", "*"],
    ]);
  });
});

describe("withoutSecrets()", () => {
  it.each([
    ["https://user:PW@host.example:8/p?token=PW#PW", "https://…@host.example:8/p?…"],
    ["https://PW@host.example", "https://…@host.example"],
    ["https:/user:PW@host.example/", "…@host.example/"],
    [" https://user:PW@host.example/", "…@host.example/"],
    ["https://user:P/PW@host.example/?PW", "https://…@host.example/?…"],
    ["https://user:P?#@PW@host.example/#PW", "https://…@host.example/#…"],
    ["postgres://user:PW@db.example/name", "postgres://…@db.example/name"],
    ["user:PW@host.example", "…@host.example"],
    ["host.example:8/p?PW", "host.example:8/p?…"],
    ["https://host.example/@name/?", "https://host.example/@name/?"],
    ["8080", "8080"],
    ["x".repeat(101), `${"x".repeat(100)}…`],
  ])("shows %s as %s", (text, plain) => {
    expect(withoutSecrets(text)).toBe(plain);
  });
});
