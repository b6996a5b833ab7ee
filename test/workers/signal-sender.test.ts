import { describe, expect, it } from "vitest";
import { SignalSender } from "../../src/workers/signal-sender.js";

describe("SignalSender", () => {
  it("drops signals for a process that does not read", () => {
    const waiting: (() => void)[] = [];
    const sent: number[] = [];
    const sender = new SignalSender(({ texts }, done) => {
      sent.push(texts.join("").length);
      waiting.push(done);
    });
    const texts = ["x".repeat(100_000), "y".repeat(100_000)];
    for (let count = 0; count < 10_000; count++) sender.send(texts);
    const kept = sent.length;
    expect(kept * 200_000).toBeLessThan(20_000_000);
    expect(kept).toBeGreaterThan(10);
    // The peer reads again.
    for (const done of waiting.splice(0)) done();
    sender.send(texts);
    expect(sent).toHaveLength(kept + 1);
  });
});
