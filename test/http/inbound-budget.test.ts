import { describe, expect, it } from "vitest";
import { defaultLimits } from "../../src/core/limits.js";
import { arriving, InboundBudget } from "../../src/http/inbound-budget.js";
import { setConstants } from "../support/constants.js";

const kilobytes = 1024;
const limits = {
  ...defaultLimits,
  maxArrivingBytes: 800 * kilobytes,
  maxRequestBytes: 100 * kilobytes,
};

function fill(inboundBudget: InboundBudget, address: string, size: number): number {
  let count = 0;
  try {
    for (;;) {
      inboundBudget.open(address).take(size);
      count++;
    }
  } catch {
    return count;
  }
}

describe("InboundBudget", () => {
  it("gives one address half, and the others what is left", () => {
    const inboundBudget = new InboundBudget({ limits });
    // 700 KiB are shared, and 100 KiB are reserved for small requests.
    expect(fill(inboundBudget, "a", 50 * kilobytes)).toBe(7);
    expect(fill(inboundBudget, "b", 50 * kilobytes)).toBe(7);
    expect(fill(inboundBudget, "c", 50 * kilobytes)).toBe(0);
    // Small requests still fit into the reserved bytes, of which one address gets half.
    expect(fill(inboundBudget, "a", 10 * kilobytes)).toBe(5);
    expect(fill(inboundBudget, "c", 10 * kilobytes)).toBe(5);
  });

  it("takes all addresses of a site's smallest network for one", () => {
    const inboundBudget = new InboundBudget({ limits });
    expect(fill(inboundBudget, "2001:db8::1", 50 * kilobytes)).toBe(7);
    expect(fill(inboundBudget, "2001:db8::2", 50 * kilobytes)).toBe(0);
    expect(fill(inboundBudget, "2001:db8:0:1::1", 50 * kilobytes)).toBe(7);
  });

  it("lets trusted proxies, and those whose address is not known, have all", () => {
    const inboundBudget = new InboundBudget({ limits, isProxy: (address) => address === "proxy" });
    expect(fill(inboundBudget, "proxy", 50 * kilobytes)).toBe(14);
    expect(fill(new InboundBudget({ limits }), "", 50 * kilobytes)).toBe(14);
  });

  it("always has room for the largest request", () => {
    const few = new InboundBudget({ limits: { ...limits, maxArrivingBytes: 1 } });
    few.open("a").take(limits.maxRequestBytes);
    expect(() => few.open("b").take(limits.maxRequestBytes)).toThrow("exceed");
  });

  it("counts what a request has when it grows, and nothing when it is over", () => {
    const inboundBudget = new InboundBudget({ limits });
    for (let i = 0; i < 100; i++) {
      const account = inboundBudget.open("a");
      for (let j = 0; j < 10; j++) account.take(10 * kilobytes);
      account.close();
      account.close();
      account.take(1);
    }
    expect(fill(inboundBudget, "a", 50 * kilobytes)).toBe(7);
    // A refused request keeps its bytes until it is closed.
    const refused = inboundBudget.open("b");
    refused.take(50 * kilobytes);
    expect(() => refused.take(800 * kilobytes)).toThrow("exceed");
    expect(fill(inboundBudget, "b", 50 * kilobytes)).toBe(6);
    refused.close();
    expect(fill(inboundBudget, "b", 50 * kilobytes)).toBe(1);
  });

  it("takes so many requests from one address", () => {
    setConstants(arriving, { maxPerAddress: 2 });
    const inboundBudget = new InboundBudget({ limits });
    const [first] = [inboundBudget.open("a"), inboundBudget.open("a")];
    expect(() => inboundBudget.open("a")).toThrow("More than 2 requests are arriving from one address.");
    inboundBudget.open("b");
    first.close();
    inboundBudget.open("a");
  });
});
