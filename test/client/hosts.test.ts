import { describe, expect, it } from "vitest";
import { checkEncrypted } from "../../src/client/credentials/secret.js";
import { hostOf, isLoopback } from "../../src/client/hosts.js";
import { grpcUrl } from "../../src/client/node/platform.js";
import { checkUrl } from "../../src/client/oauth/issuer-place.js";

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
];
const elsewhere = ["a.example", "localhost.example", "alocalhost", "127.0.0.1.example", "128.0.0.1", "[::2]", "[::]"];

/** Whether a call was refused. */
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
      // No secret is sent unencrypted to another machine.
      expect(refuses(() => checkEncrypted(`http://${host}/`))).toBe(!isHere);
      // An agent's card does not choose an issuer on this machine.
      if (isHere) expect(refuses(() => checkUrl("it", `https://${host}/token`, { clientId: "c" }))).toBe(true);
      expect(refuses(() => checkUrl("it", `http://${host}/`, { clientId: "c", allowLocalIssuer: true }))).toBe(!isHere);
      expect(grpcUrl(`${host}:50051`)).toMatch(isHere ? /^http:/ : /^https:/);
    },
  );

  it("says false of a text that is not a URL", () => {
    expect(isLoopback("localhost")).toBe(false);
    expect(isLoopback("http://localhost:65536/")).toBe(false);
    expect(isLoopback("http://[fe80::1%25eth0]/")).toBe(false);
  });
});

describe("hostOf()", () => {
  it.each([
    ["https://A.example:8443/x", "a.example"],
    ["https://a.example./x", "a.example"],
    ["HTTP://a.example", "a.example"],
    ["https://user@a.example", "a.example"],
    ["https://münchen.example", "xn--mnchen-3ya.example"],
    ["https://XN--MNCHEN-3YA.example", "xn--mnchen-3ya.example"],
    ["https://ａ.example", "a.example"],
    ["http://localhost.", "localhost"],
    ["http://127.0.0.1:1", "localhost"],
    ["http://[::1]:1", "localhost"],
    ["http://127.0.0.2", "127.0.0.2"],
    ["http://agent.localhost", "agent.localhost"],
    ["https://www.a.example", "www.a.example"],
    ["a.example", undefined],
    ["https://a.example:0x", undefined],
  ])("gives of %s %s", (url, host) => {
    expect(hostOf(url)).toBe(host);
  });
});
