import { describe, expect, it } from "vitest";
import { LivenessMonitor } from "../../src/store/liveness.js";

/** An observer whose clock the test moves; a lease lasts 1,000 milliseconds. */
function observer(): { look: (after: number, heartbeats: Record<string, number | undefined>) => string[] } {
  let now = 5_000;
  const watch = new LivenessMonitor(() => now);
  return {
    look(after, heartbeats) {
      now += after;
      return watch.check(new Map(Object.entries(heartbeats)), 1_000);
    },
  };
}

describe("LivenessMonitor.check()", () => {
  it("finds the holders that showed no life for as long as a lease lasts", () => {
    const { look } = observer();
    expect(look(0, { a: 1, b: 1 })).toEqual([]);
    expect(look(500, { a: 1, b: 2 })).toEqual([]);
    expect(look(499, { a: 1, b: 3 })).toEqual([]);
    expect(look(1, { a: 1, b: 4 })).toEqual(["a"]);
    expect(look(600, { a: 1, b: 4 })).toEqual(["a"]);
  });

  it("begins anew in a round that comes late", () => {
    const { look } = observer();
    expect(look(0, { a: 1 })).toEqual([]);
    expect(look(500, { a: 1 })).toEqual([]);
    expect(look(5_000, { a: 1 })).toEqual([]);
    expect(look(600, { a: 1 })).toEqual([]);
    expect(look(400, { a: 1 })).toEqual(["a"]);
  });

  it("finds the holders that are gone though every look comes late, as on a busy machine or through a slow store", () => {
    const { look } = observer();
    expect(look(0, { a: 1, b: 1 })).toEqual([]);
    for (const b of [1, 2, 3]) expect(look(900, { a: 1, b })).toEqual([]);
    expect(look(900, { a: 1, b: 4 })).toEqual(["a"]);
  });

  it("begins anew once for each heartbeat, and counts little of a pause after that", () => {
    const { look } = observer();
    expect(look(0, { a: 1 })).toEqual([]);
    // Stopped twice, for however long, with the holder's next sign still to come.
    expect(look(60_000, { a: 1 })).toEqual([]);
    expect(look(60_000, { a: 1 })).toEqual([]);
    expect(look(300, { a: 1 })).toEqual([]);
    expect(look(300, { a: 2 })).toEqual([]);
    expect(look(60_000, { a: 2 })).toEqual([]);
    expect(look(600, { a: 2 })).toEqual([]);
    expect(look(400, { a: 2 })).toEqual(["a"]);
  });

  it("counts a heartbeat that goes backwards, but not one that is gone", () => {
    const { look } = observer();
    expect(look(0, { a: 7, b: 7 })).toEqual([]);
    expect(look(600, { a: 1, b: undefined })).toEqual([]);
    expect(look(400, { a: 1, b: undefined })).toEqual(["b"]);
  });

  it("waits for a holder that never gave a sign as for any other, and forgets holders that have nothing any more", () => {
    const { look } = observer();
    expect(look(0, { a: undefined })).toEqual([]);
    expect(look(600, {})).toEqual([]);
    expect(look(400, { a: undefined })).toEqual([]);
    expect(look(600, { a: undefined })).toEqual([]);
    expect(look(400, { a: undefined })).toEqual(["a"]);
  });
});
