import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { claimedTier, compliancePage, filesById, pageOf, root, shown } from "./cli/compliance.js";
import { cliRequirements } from "./cli/requirements.js";

describe("the requirements of the A2A CLI", () => {
  it("are those of the checklist, by tier", () => {
    const count = (tier: number) => cliRequirements.filter((each) => each.tier === tier).length;
    expect([count(1), count(2), count(3)]).toEqual([39, 15, 12]);
    expect(new Set(cliRequirements.map(({ id }) => id)).size).toBe(66);
  });

  it("are the only ids that titles of tests name", () => {
    const known = new Set(cliRequirements.map(({ id }) => id));
    expect([...filesById().keys()].filter((id) => !known.has(id))).toEqual([]);
  });

  it("of tier 1 are all shown by tests", () => {
    const open = shown().filter(({ tier, status }) => tier === 1 && status === "fail");
    expect(open).toEqual([]);
    expect(claimedTier(shown())).toBeGreaterThanOrEqual(1);
  });

  it("are met as docs/cli-compliance.md says; `npm run conformance -- --cli` writes it", () => {
    expect(readFileSync(join(root, compliancePage), "utf8")).toBe(pageOf(shown()));
  });
});
