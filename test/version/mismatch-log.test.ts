import { describe, expect, it } from "vitest";
import { silentLogger } from "../../src/core/log.js";
import { MismatchLog, versionWarnings } from "../../src/version/mismatch-log.js";
import { setConstantsOfFile } from "../support/constants.js";

setConstantsOfFile(versionWarnings, { perMinute: 2 });

describe("MismatchLog", () => {
  it("says with the first line of the next minute how many it left out, and shortens what clients chose", () => {
    const lines: object[] = [];
    let now = 0;
    const log = new MismatchLog({ ...silentLogger, warn: (facts) => void lines.push(facts) }, () => now);
    const cause = { requestId: "r-1" };
    const note = (asked: string) =>
      log.note({ binding: "rest", asked, version: undefined, address: "::1", why: ".", cause });
    for (let i = 0; i < 5; i++) note("x".repeat(500));
    now = 59_999;
    note("y");
    expect(lines).toHaveLength(2);
    now = 60_000;
    note("z");
    note("z");
    expect(lines.slice(2)).toEqual([
      { binding: "rest", asked: "z", version: undefined, peer: "::1", requestId: "r-1", notLogged: 4 },
      { binding: "rest", asked: "z", version: undefined, peer: "::1", requestId: "r-1" },
    ]);
    expect((lines[0] as { asked: string }).asked).toHaveLength(64);
  });
});
