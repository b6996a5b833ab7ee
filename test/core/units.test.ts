import { describe, expect, it } from "vitest";
import { parseDuration, parseSize, showDuration, showSize } from "../../src/server/option-kinds.js";

describe("parseDuration()", () => {
  it.each([
    ["500ms", 500],
    ["10s", 10_000],
    ["1.5h", 5_400_000],
    ["15 M", 900_000],
    ["7d", 604_800_000],
    ["2.001s", 2_001],
    ["0", 0],
  ])("reads %s", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(["10", "", "-1s", "1w", "1.5ms", "d", "1s2", "99999999999999d", "constructor"])("refuses %j", (text) => {
    expect(() => parseDuration(text)).toThrow("a time with its unit, such as");
  });
});

describe("parseSize()", () => {
  it("reads sizes with their units, and no others", () => {
    const texts = ["512B", "64KiB", "8MiB", "1.5gib", "0"];
    expect(texts.map(parseSize)).toEqual([512, 65_536, 8_388_608, 1_610_612_736, 0]);
    for (const text of ["8", "8MB", "0.3B", "x"]) expect(() => parseSize(text)).toThrow("a size with its unit");
  });
});

describe("what is shown", () => {
  it("is read again as the same", () => {
    for (const ms of [0, 1, 1_500, 60_000, 5_400_000, 86_400_000]) expect(parseDuration(showDuration(ms))).toBe(ms);
    for (const bytes of [0, 1, 1_023, 1_024, 8_388_608, 2 ** 31 - 1]) expect(parseSize(showSize(bytes))).toBe(bytes);
    expect([showDuration(5_400_000), showSize(8_388_608)]).toEqual(["90m", "8MiB"]);
  });
});
