import { describe, expect, it } from "vitest";
import { defaultLimits } from "../../src/core/limits.js";
import { Arrivals, arriving } from "../../src/http/arrivals.js";
import { setConstants } from "../support/constants.js";

const kilobytes = 1024;
const limits = {
  ...defaultLimits,
  maxArrivingBytes: 800 * kilobytes,
  maxRequestBytes: 100 * kilobytes,
};

function fill(arrivals: Arrivals, address: string, size: number): number {
  let count = 0;
  try {
    for (;;) {
      arrivals.open(address).take(size);
      count++;
    }
  } catch {
    return count;
  }
}

describe("Arrivals", () => {
  it("gives one address half, and the others what is left", () => {
    const arrivals = new Arrivals({ limits });
    // 700 KiB are shared, 100 KiB are for small requests.
    expect(fill(arrivals, "a", 50 * kilobytes)).toBe(7);
    expect(fill(arrivals, "b", 50 * kilobytes)).toBe(7);
    expect(fill(arrivals, "c", 50 * kilobytes)).toBe(0);
    // What is small has room all the same, and again one address half of it.
    expect(fill(arrivals, "a", 10 * kilobytes)).toBe(5);
    expect(fill(arrivals, "c", 10 * kilobytes)).toBe(5);
  });

  it("lets trusted proxies, and those whose address is not known, have all", () => {
    const arrivals = new Arrivals({ limits, isProxy: (address) => address === "proxy" });
    expect(fill(arrivals, "proxy", 50 * kilobytes)).toBe(14);
    expect(fill(new Arrivals({ limits }), "", 50 * kilobytes)).toBe(14);
  });

  it("always has room for the largest request", () => {
    const few = new Arrivals({ limits: { ...limits, maxArrivingBytes: 1 } });
    few.open("a").take(limits.maxRequestBytes);
    expect(() => few.open("b").take(limits.maxRequestBytes)).toThrow("exceed");
  });

  it("counts what a request has when it grows, and nothing when it is over", () => {
    const arrivals = new Arrivals({ limits });
    for (let i = 0; i < 100; i++) {
      const account = arrivals.open("a");
      for (let j = 0; j < 10; j++) account.take(10 * kilobytes);
      account.close();
      account.close();
      account.take(1);
    }
    expect(fill(arrivals, "a", 50 * kilobytes)).toBe(7);
    // One that is refused keeps what it had until it is closed.
    const refused = arrivals.open("b");
    refused.take(50 * kilobytes);
    expect(() => refused.take(800 * kilobytes)).toThrow("exceed");
    expect(fill(arrivals, "b", 50 * kilobytes)).toBe(6);
    refused.close();
    expect(fill(arrivals, "b", 50 * kilobytes)).toBe(1);
  });

  it("takes so many requests from one address", () => {
    setConstants(arriving, { maxPerAddress: 2 });
    const arrivals = new Arrivals({ limits });
    const [first] = [arrivals.open("a"), arrivals.open("a")];
    expect(() => arrivals.open("a")).toThrow("More than 2 requests are arriving from one address.");
    arrivals.open("b");
    first.close();
    arrivals.open("a");
  });
});
