import { describe, expect, it } from "vitest";
import { Frames } from "../../../src/client/transport/framed.js";

describe("Frames", () => {
  it("give bytes of one kind, wherever they were cut", () => {
    const bytes = new Uint8Array([0, 0, 0, 0, 3, 7, 8, 9]);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const frames = new Frames(10);
      for (const piece of [bytes.slice(0, cut), bytes.slice(cut)]) if (piece.length > 0) frames.push(piece);
      const frame = frames.take();
      expect(frame?.data).toStrictEqual(new Uint8Array([7, 8, 9]));
      expect(frames.isCut).toBe(false);
    }
  });
});
