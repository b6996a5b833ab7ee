import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TargetOptions } from "../../../src/push/options.js";
import { TargetGuard } from "../../../src/push/target/guard.js";
import { dnsLookup } from "../../../src/push/target/lookup.js";
import { pushConnection } from "../../../src/push/target/post.js";
import { setConstants } from "../../support/constants.js";
import { DnsServer } from "./dns-server.js";
import { post, World } from "./receiver.js";

// 127.0.0.1 is where a receiver may be in these tests, and 127.0.0.2 is inside: there is one on the same port, which must not be met.
const GOOD = "127.0.0.1";
const INSIDE = "127.0.0.2";
const NAME = "hooks.example.com";

const world = new World();
let server: DnsServer;
let port: number;
let met: string[];
let options: TargetOptions;

beforeEach(async () => {
  server = await DnsServer.start();
  world.onEnd(() => server.close());
  met = [];
  port = await listenAtBoth();
  options = { allowHttp: true, ports: [port], allow: [GOOD], lookup: dnsLookup(server.resolver()) };
});
afterEach(() => world.close());

/** Starts a receiver at each address, on a port that no other process has at either. */
async function listenAtBoth(): Promise<number> {
  for (;;) {
    const at = (await listen(GOOD, 0)) ?? 0;
    if (at !== 0 && (await listen(INSIDE, at)) !== undefined) return at;
  }
}

/** Starts a receiver, unless its port is taken. Returns the port. */
async function listen(address: string, at: number): Promise<number | undefined> {
  const answer: RequestListener = (_, response) => {
    met.push(address);
    response.end("ok");
  };
  const receiver = createServer(answer);
  receiver.on("connection", () => met.push(`connection to ${address}`));
  receiver.listen(at, address);
  const isListening = await once(receiver, "listening").then(
    () => true,
    () => false,
  );
  if (!isListening) return undefined;
  world.onEnd(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  return (receiver.address() as AddressInfo).port;
}

const url = (name = NAME): string => `http://${name}:${port}/hook`;
const deliveries = (): string[] => met.filter((each) => !each.startsWith("connection"));
const accepted = { kind: "accepted", status: 200 };
const forbidden = {
  kind: "failed",
  forbidden: true,
  reason: "the host has an address that must not be reached (loopback)",
};

describe("a name on a real resolver", () => {
  it("is reached at its address", async () => {
    server.set(NAME, [GOOD]);
    const guard = new TargetGuard(options);
    expect((await guard.check(url())).host).toBe(`http://${NAME}:${port}`);
    expect(await post(world.poster(options), url())).toEqual(accepted);
    expect(deliveries()).toEqual([GOOD]);
  });

  it.each([
    ["one address", [INSIDE]],
    ["a good one and one inside", [GOOD, INSIDE]],
    ["one inside and a good one", [INSIDE, GOOD]],
    ["a good one and one inside of IPv6", [GOOD, "::1"]],
    ["a good one and one inside that IPv6 maps", [GOOD, "::ffff:7f00:2"]],
    ["a good one and NAT64 of one inside", [GOOD, "64:ff9b::7f00:2"]],
    ["a good one and a metadata service", [GOOD, "169.254.169.254"]],
    ["a good one after many others", [...Array.from({ length: 12 }, (_, i) => `93.184.216.${i + 1}`), INSIDE]],
  ])("is refused with %s, by the check and by the connection", async (_, addresses) => {
    server.set(NAME, addresses);
    const guard = new TargetGuard(options);
    await expect(guard.check(url())).rejects.toMatchObject({ reason: "INVALID_PARAMS" });
    expect(await post(world.poster(options), url())).toMatchObject({ kind: "failed", forbidden: true });
    expect(met).toEqual([]);
  });

  it("whose answer changes between the check and the connection is not reached", async () => {
    server.set(NAME, [GOOD], [INSIDE]);
    const guard = new TargetGuard(options);
    await guard.check(url());
    expect(await post(world.poster(options), url())).toEqual(forbidden);
    expect(met).toEqual([]);
    expect(server.lookups(NAME)).toBe(2);
  });

  it("is looked up once for a connection, which goes to the very addresses that were judged", async () => {
    server.set(NAME, [GOOD], [INSIDE]);
    setConstants(pushConnection, { idleMs: 1_000 });
    const poster = world.poster(options);
    expect(await post(poster, url())).toEqual(accepted);
    expect(server.lookups(NAME)).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    // An open connection is one to the address that was judged; the next one is judged anew.
    expect(await post(poster, url())).toEqual(accepted);
    expect(server.lookups(NAME)).toBe(1);
    expect(met).toEqual([`connection to ${GOOD}`, GOOD, GOOD]);
    await expect.poll(() => post(poster, url()), { timeout: 20_000, interval: 1_500 }).toEqual(forbidden);
    expect(met.filter((each) => each.endsWith(INSIDE))).toEqual([]);
  });

  it("is looked up again after the time of a connection, however busy it is", async () => {
    server.set(NAME, [GOOD], [INSIDE]);
    setConstants(pushConnection, { maxAgeMs: 300 });
    const poster = world.poster(options, { maxDeliveriesPerHost: 1 });
    expect(await post(poster, url())).toEqual(accepted);
    await expect.poll(() => post(poster, url()), { interval: 20 }).toEqual(forbidden);
    expect(met.filter((each) => each.endsWith(INSIDE))).toEqual([]);
  });

  it("that alternates all the time is reached where it may be, and nowhere else", async () => {
    server.set(NAME, ...Array.from({ length: 40 }, (_, i) => [i % 2 === 0 ? GOOD : INSIDE]));
    const outcomes = [];
    for (let i = 0; i < 20; i++) {
      const poster = world.poster(options);
      outcomes.push(await post(poster, url()));
      await poster.close();
    }
    expect(outcomes.filter(({ kind }) => kind === "accepted")).toHaveLength(10);
    expect(outcomes.filter(({ kind }) => kind === "failed")).toEqual(Array.from({ length: 10 }, () => forbidden));
    expect(met.filter((each) => each.endsWith(INSIDE))).toEqual([]);
  });

  it("is followed through aliases to what they lead to", async () => {
    server.set(NAME, ["a.example.net"]);
    server.set("a.example.net", ["b.example.org"]);
    server.set("b.example.org", [GOOD]);
    expect(await post(world.poster(options), url())).toEqual(accepted);
    server.set("b.example.org", [INSIDE]);
    expect(await post(world.poster(options), url())).toEqual(forbidden);
    server.set("b.example.org", [GOOD, "fd00:ec2::254"]);
    expect(await post(world.poster(options), url())).toMatchObject({ forbidden: true });
    server.set("b.example.org", ["localhost"]);
    server.set("localhost", [INSIDE]);
    expect(await post(world.poster(options), url())).toEqual(forbidden);
    expect(deliveries()).toEqual([GOOD]);
  });

  it("has no address where its aliases go round", async () => {
    server.set(NAME, ["a.example.net"]);
    server.set("a.example.net", [NAME]);
    const outcome = await post(world.poster(options), url());
    expect(outcome).toMatchObject({ kind: "failed", forbidden: false });
    expect(met).toEqual([]);
  });

  it("is tried at its next address where the first one does not answer", async () => {
    // Nothing listens on 127.0.0.3.
    server.set(NAME, ["127.0.0.3", GOOD]);
    const poster = world.poster({ ...options, allow: [GOOD, "127.0.0.3"] });
    expect(await post(poster, url())).toEqual(accepted);
    expect(deliveries()).toEqual([GOOD]);
  });

  it.each([
    ["NXDOMAIN", "the name does not resolve"],
    [[], "the name does not resolve"],
    ["SERVFAIL", "the name cannot be looked up at the moment"],
    ["silence", "the name cannot be looked up at the moment"],
  ] as const)("that gives %s is not reached", async (answer, reason) => {
    server.set(NAME, answer);
    expect(await post(world.poster(options), url())).toEqual({
      kind: "failed",
      forbidden: false,
      reason,
    });
    const known = answer === "NXDOMAIN" || answer.length === 0;
    await expect(new TargetGuard(options).check(url())).rejects.toMatchObject({
      reason: known ? "INVALID_PARAMS" : "UNAVAILABLE",
    });
  });

  it("that is slow holds up no other", async () => {
    server.set(NAME, "silence");
    server.set("other.example.com", [GOOD]);
    const poster = world.poster({ ...options, lookup: dnsLookup(server.resolver({ timeout: 3_000 })) });
    let isOver = false;
    const slow = post(poster, url()).finally(() => {
      isOver = true;
    });
    expect(await post(poster, url("other.example.com"))).toEqual(accepted);
    expect(isOver).toBe(false);
    expect((await slow).kind).toBe("failed");
  });

  it("is not asked for where the URL is refused already", async () => {
    const poster = world.poster(options);
    expect(await post(poster, url("printer.local"))).toMatchObject({ forbidden: true });
    expect(await post(poster, url(INSIDE))).toEqual(forbidden);
    expect(await post(poster, `http://[::1]:${port}/`)).toEqual(forbidden);
    expect(await post(poster, `http://2130706434:${port}/`)).toEqual(forbidden);
    expect(server.asked).toEqual([]);
    expect(met).toEqual([]);
  });
});
