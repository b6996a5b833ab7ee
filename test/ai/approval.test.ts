import { describe, expect, it } from "vitest";
import { readApproval } from "../../src/ai/approval.js";

describe("readApproval()", () => {
  it.each([
    ...["yes", "Yes!", "y", "sure", "Ok, thanks.", "okay", "please do", "Do it.", "go ahead", "Yes, please do"],
    ...["yes, go ahead", "Sure, do that", "approved", " YES\n"],
  ])("takes %j for an approval", (text) => {
    expect(readApproval(text)).toEqual({ allowed: true });
  });

  it.each(["no", "No.", "n", "stop", "Cancel!", "denied", "don\u2019t", "never"])("takes %j for a denial", (text) => {
    expect(readApproval(text)).toEqual({ allowed: false });
  });

  it.each(["Not now", "No, only 5", "don't do it", "no thanks", "Stop that, please"])(
    "keeps the words of the denial %j",
    (text) => expect(readApproval(text)).toMatchObject({ allowed: false }),
  );

  it.each([
    ...["", "yes, but only 5", "ok if it is cheap", "yes?", "sure, why not", "please", "do", "thanks", "yesterday"],
    ...["no problem", "No worries, go ahead", "no. yes", "no?", "nobody", "note it", "I think so", "ja", "yes not"],
    ...["okay no", "sure, not", "the yes", "yes, don't", "go", "ahead", "y".repeat(100_000)],
  ])("returns %j, which is neither", (text) => {
    expect(readApproval(text)).toBe(text);
  });
});
