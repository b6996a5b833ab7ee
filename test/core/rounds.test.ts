import { describe, expect, it } from "vitest";
import { inRoundOfItsOwn, nextRound } from "../../src/core/event-loop.js";

describe("inRoundOfItsOwn()", () => {
  it("runs one callback a round of the event loop, in order", async () => {
    let round = 0;
    const ran: [name: string, round: number][] = [];
    for (const name of ["a", "b", "c"]) inRoundOfItsOwn(() => void ran.push([name, round]));
    inRoundOfItsOwn(() => inRoundOfItsOwn(() => void ran.push(["last", round])));
    while (ran.length < 4) {
      await nextRound();
      round++;
    }
    expect(ran.map(([name]) => name)).toEqual(["a", "b", "c", "last"]);
    expect(new Set(ran.map(([, at]) => at)).size).toBe(4);
  });
});
