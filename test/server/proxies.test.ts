import { describe, expect, it } from "vitest";
import { A2AService } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { Call, type Peer } from "../../src/core/call.js";
import type { ProxyHeaders } from "../../src/http/forwarded.js";
import { createProxies } from "../../src/server/proxies.js";
import type { InvocationResult } from "../../src/service/invoke.js";

const method = A2AService.method.getTask;
const peer: Peer = { address: "10.0.0.1", encrypted: false };

/** The call as it comes out of the interceptor, and how it arrived. */
async function through(
  headers: Record<string, string>,
  trust?: (address: string) => boolean,
  { kind, from = peer }: { readonly kind?: ProxyHeaders; readonly from?: Peer } = {},
): Promise<unknown[]> {
  const { intercept, originOf, peerOf } = createProxies(trust, kind);
  const call = new Call({
    binding: "rest",
    header: (name) => headers[name],
    peer: from,
    signal: new AbortController().signal,
  });
  const direct = peerOf(call);
  const answer = {} as InvocationResult;
  expect(await intercept(async () => answer)({ method, request: {} as never, call })).toBe(answer);
  expect(direct).toEqual(call.peer);
  const { address, encrypted } = originOf(call);
  return [call.peer, { address, encrypted }];
}

describe("createProxies()", () => {
  const trust = (address: string): boolean => address.startsWith("10.");

  it("takes every peer for the client where no proxy is trusted", async () => {
    expect(await through({ "x-forwarded-for": "192.0.2.1" })).toEqual([peer, peer]);
    expect(await through({ "x-forwarded-for": "192.0.2.1" }, () => false)).toEqual([peer, peer]);
  });

  it("puts the client in the place of the proxy, and remembers the proxy", async () => {
    const client = { address: "192.0.2.1", encrypted: true };
    const standard = { forwarded: "for=192.0.2.1;proto=https" };
    expect(await through(standard, trust, { kind: "forwarded" })).toEqual([client, peer]);
    expect(await through(standard, trust)).toEqual([peer, peer]);
    const headers = { "x-forwarded-for": "192.0.2.1", "x-forwarded-proto": "https" };
    expect(await through(headers, trust)).toEqual([client, peer]);
  });

  it("keeps the connection's values where a proxy gives none", async () => {
    expect(await through({}, trust)).toEqual([peer, peer]);
    expect(await through({ "x-forwarded-for": "192.0.2.1" }, trust)).toEqual([{ ...peer, address: "192.0.2.1" }, peer]);
    expect(await through({ "x-forwarded-proto": "https" }, trust)).toEqual([{ ...peer, encrypted: true }, peer]);
  });

  it("never takes the proxy's own certificate for the client's", async () => {
    const certificate = { subject: "CN=proxy", names: [], fingerprint: "AB" };
    const from = { ...peer, certificate };
    for (const headers of [{}, { "x-forwarded-for": "192.0.2.1" }, { forwarded: "for=192.0.2.1" }]) {
      const [client] = await through(headers as Record<string, string>, trust, { from });
      expect(client).not.toHaveProperty("certificate");
    }
    const [direct] = await through({ "x-forwarded-for": "192.0.2.1" }, () => false, { from });
    expect(direct).toEqual(from);
  });
});
