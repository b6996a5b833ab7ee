import { assert, property, string, uint8Array } from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as withBuffer from "../../src/core/bytes.js";

/** Imports the module in a runtime without Buffer. */
async function withoutBuffer(): Promise<typeof withBuffer> {
  vi.resetModules();
  vi.stubGlobal("Buffer", undefined);
  const made = await import("../../src/core/bytes.js");
  vi.unstubAllGlobals();
  return made;
}

afterEach(() => vi.unstubAllGlobals());

const anyText = string({ unit: "binary", maxLength: 300 });
const plain = (bytes: Uint8Array): number[] => [...bytes];
const unpadded = (text: string): string => text.replace(/=+$/, "");
const urlSafe = (text: string): string => text.replaceAll("+", "-").replaceAll("/", "_");

describe("bytes without Buffer", () => {
  it("are another implementation", async () => {
    expect((await withoutBuffer()).allocate(3)).not.toBeInstanceOf(Buffer);
    expect(withBuffer.allocate(3)).toBeInstanceOf(Buffer);
  });

  it("say of a text what Buffer says, half surrogate pairs included", async () => {
    const without = await withoutBuffer();
    const same = (text: string): void => {
      const utf8 = plain(withBuffer.utf8Of(text));
      expect(plain(without.utf8Of(text))).toEqual(utf8);
      expect(without.utf8LengthOf(text)).toBe(utf8.length);
      const room = without.allocate(utf8.length + 4);
      expect(without.writeUtf8(text, room, 4)).toBe(utf8.length);
      expect(plain(room.subarray(4))).toEqual(utf8);
      expect(plain(without.copyOf(room, 4))).toEqual([0, 0, 0, 0]);
    };
    for (const text of ["", "a\ud800", "\udc00\ud83d", "\ud83d\ude00é€"]) same(text);
    assert(property(anyText, same));
  });

  it("make text of UTF-8 and of nothing else", async () => {
    for (const { decodeUtf8 } of [await withoutBuffer(), withBuffer]) {
      const same = (text: string): void => {
        const bytes = Uint8Array.from([0xff, ...new TextEncoder().encode(text), 0xff]);
        expect(decodeUtf8(bytes, 1, bytes.length - 1)).toBe(text);
        for (const [start, end] of [
          [0, bytes.length - 1],
          [1, bytes.length],
        ] as const) {
          expect(() => decodeUtf8(bytes, start, end)).toThrow(TypeError);
        }
      };
      for (const text of ["", "\ufeffa", "\ufffd", "a\ufffd\u{1f600}", "\u0000", "x".repeat(10_000)]) same(text);
      assert(property(string({ unit: "grapheme", maxLength: 300 }), same));
      for (const wrong of [[0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x80], [0x61, 0xe2, 0x82]]) {
        expect(() => decodeUtf8(Uint8Array.from(wrong), 0, wrong.length)).toThrow(TypeError);
      }
    }
  });

  it("read and write base64 of either alphabet, and hexadecimal, as Buffer does", async () => {
    const without = await withoutBuffer();
    const same = (bytes: Uint8Array): void => {
      const base64 = withBuffer.base64Of(bytes);
      expect(without.base64Of(bytes)).toBe(base64);
      expect(without.hexOf(bytes)).toBe(withBuffer.hexOf(bytes));
      for (const form of [base64, unpadded(base64), urlSafe(base64), urlSafe(unpadded(base64))]) {
        expect(plain(without.fromBase64(form))).toEqual(plain(bytes));
        expect(plain(withBuffer.fromBase64(form))).toEqual(plain(bytes));
      }
    };
    same(Uint8Array.from({ length: 20_000 }, (_, i) => (i * 7) % 256));
    assert(property(uint8Array({ maxLength: 100 }), same));
  });

  it("put bytes one behind the other", async () => {
    const parts = [Uint8Array.of(1, 2), new Uint8Array(0), Uint8Array.of(3)];
    expect(plain((await withoutBuffer()).concat(parts))).toEqual(plain(withBuffer.concat(parts)));
  });
});
