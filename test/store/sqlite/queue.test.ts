import { describe, expect, it } from "vitest";
import { WriteQueue } from "../../../src/store/sqlite/queue.js";

const caller = { resolve: () => {}, reject: () => {} };

/** Number of writes until a queue is full. */
function writesUntilFull(queue: WriteQueue): number {
  let writes = 0;
  while (!queue.isFull) {
    queue.push(caller);
    writes++;
  }
  return writes;
}

describe("WriteQueue.isFull", () => {
  it("sends few writes at once while the thread has nothing to do, and many while it has", () => {
    const queue = new WriteQueue();
    const first = writesUntilFull(queue);
    queue.markSent();
    const second = writesUntilFull(queue);
    expect(first).toBeLessThan(second / 10);
  });

  it("sends few writes at once again after the thread has answered", () => {
    const queue = new WriteQueue();
    const first = writesUntilFull(queue);
    queue.markSent();
    queue.takeAnswered(first);
    expect(writesUntilFull(queue)).toBe(first);
  });
});
