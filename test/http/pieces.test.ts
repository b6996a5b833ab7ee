import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { NodeWriter } from "../../src/http/node/writer.js";
import { writePieces } from "../../src/http/pieces.js";

/** A connection that takes all bytes at once and calls back before the event loop continues, as sockets do. */
class Quick extends EventEmitter {
  readonly pieces: unknown[] = [];
  destroyed = false;

  write(piece: unknown): boolean {
    this.pieces.push(piece);
    process.nextTick(() => this.emit("drain"));
    return false;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

describe("writePieces()", () => {
  it("lets others have their turn between two pieces, however quickly they are taken", async () => {
    const target = new Quick();
    const pieces = Array.from({ length: 20 }, (_, i) => `${i}`);
    let turns = 0;
    let over = false;
    const count = (): void => {
      turns++;
      if (!over) setImmediate(count);
    };
    setImmediate(count);
    expect(await writePieces(new NodeWriter(target), pieces)).toBe(true);
    over = true;
    expect(target.pieces).toEqual(pieces);
    expect(turns).toBeGreaterThanOrEqual(pieces.length);
  });

  it("breaks off what cannot be made to its end, and says why", async () => {
    const target = new Quick();
    const failing = function* (): Generator<string> {
      yield "a";
      throw new Error("no form");
    };
    await expect(writePieces(new NodeWriter(target), failing())).rejects.toThrow("no form");
    expect(target.destroyed).toBe(true);
  });
});
