import { describe, expect, it } from "vitest";
import { evictOldest } from "../../src/core/maps.js";

describe("evictOldest()", () => {
  const set = (map: Map<string, number>, key: string, most = 3): void => {
    map.delete(key);
    evictOldest(map, most);
    map.set(key, 1);
  };

  it("forgets what was set first, whatever was removed or set again meanwhile", () => {
    const map = new Map<string, number>();
    for (const key of ["a", "b", "c", "d"]) set(map, key);
    expect([...map.keys()]).toEqual(["b", "c", "d"]);
    set(map, "b");
    map.delete("c");
    for (const key of ["e", "f"]) set(map, key);
    expect([...map.keys()]).toEqual(["b", "e", "f"]);
    map.clear();
    for (const key of ["g", "h", "i", "j", "k"]) set(map, key);
    expect([...map.keys()]).toEqual(["i", "j", "k"]);
  });

  it("costs the same however many there were: a million through a map of 100,000 would take an hour otherwise", () => {
    const map = new Map<string, number>();
    for (let i = 0; i < 1_000_000; i++) set(map, `k${i}`, 100_000);
    expect(map.size).toBe(100_000);
    expect(map.keys().next().value).toBe("k900000");
  }, 60_000);
});
