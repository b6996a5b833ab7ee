import { describe, expect, it } from "vitest";
import { runInOwnTurn, yieldToEventLoop } from "../../src/core/event-loop.js";

describe("inRoundOfItsOwn()", () => {
  it("runs one callback a round of the event loop, in order", async () => {
    let round = 0;
    const ran: [name: string, round: number][] = [];
    for (const name of ["a", "b", "c"]) runInOwnTurn(() => void ran.push([name, round]));
    runInOwnTurn(() => runInOwnTurn(() => void ran.push(["last", round])));
    while (ran.length < 4) {
      await yieldToEventLoop();
      round++;
    }
    expect(ran.map(([name]) => name)).toEqual(["a", "b", "c", "last"]);
    expect(new Set(ran.map(([, at]) => at)).size).toBe(4);
  });
});
