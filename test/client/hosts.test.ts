import { describe, expect, it } from "vitest";
import { comparableHost } from "../../src/client/hosts.js";

describe("comparableHost()", () => {
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
    expect(comparableHost(url)).toBe(host);
  });
});
