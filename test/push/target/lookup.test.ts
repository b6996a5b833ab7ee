import type { LookupAddress } from "node:dns";
import { describe, expect, it } from "vitest";
import type { TargetLookup } from "../../../src/push/options.js";
import { TargetGuard } from "../../../src/push/target/guard.js";
import { pushLookup } from "../../../src/push/target/lookup.js";
import { setConstants } from "../../support/constants.js";

const GOOD: LookupAddress = { address: "93.184.215.14", family: 4 };

const guardWith = (lookup: unknown, timeoutMs = 100): TargetGuard => {
  setConstants(pushLookup, { timeoutMs });
  return new TargetGuard({ lookup: lookup as TargetLookup });
};

const outcome = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "found",
    (error: Error & { reason?: string }) => error.reason ?? error.name,
  );

describe("look-ups", () => {
  it("are 64 at once at the most, and those that wait too long fail", async () => {
    let [running, peak] = [0, 0];
    const release: (() => void)[] = [];
    const lookup = async (): Promise<LookupAddress[]> => {
      peak = Math.max(peak, ++running);
      await new Promise<void>((resolve) => release.push(resolve));
      running--;
      return [GOOD];
    };
    const guard = guardWith(lookup, 60_000);
    const all = Array.from({ length: 200 }, (_, i) => outcome(guard.check(`https://n${i}.example/`)));
    for (let done = 0; done < 200; done++) {
      await expect.poll(() => release.length).toBeGreaterThan(0);
      release.shift()?.();
    }
    expect(await Promise.all(all)).toEqual(all.map(() => "found"));
    expect(peak).toBe(64);
  });

  it("that a function of the author never answers keep no place for ever", async () => {
    const lookup = (host: string): Promise<LookupAddress[]> =>
      host.startsWith("slow") ? new Promise(() => {}) : Promise.resolve([GOOD]);
    const guard = guardWith(lookup);
    const slow = Array.from({ length: 64 }, (_, i) => outcome(guard.check(`https://slow${i}.example/`)));
    expect(await Promise.all(slow)).toEqual(slow.map(() => "UNAVAILABLE"));
    expect(await outcome(guard.check("https://quick.example/"))).toBe("found");
  });

  const odd: Record<string, unknown> = {
    nothing: undefined,
    null: null,
    "a text": "93.184.215.14",
    "a list of texts": ["93.184.215.14"],
    "a list of nothing": [undefined],
    "an address that is none": [{ address: "2130706433", family: 4 }],
    "a good one and one that is none": [GOOD, { address: undefined, family: 4 }],
    "a good one and one inside, as IPv6": [GOOD, { address: "::ffff:127.0.0.1", family: 6 }],
    "an inner one of the wrong family": [{ address: "127.0.0.1", family: 6 }],
  };
  it.each(Object.entries(odd))("that answer %s reach nothing", async (_name, answer) => {
    const guard = guardWith(() => answer);
    expect(await outcome(guard.check("https://odd.example/"))).toBe("INVALID_PARAMS");
    const error = await new Promise((resolve) => guard.lookup("odd.example", { all: true }, resolve));
    expect(error).toBeInstanceOf(Error);
  });
});
