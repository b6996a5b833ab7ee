import { describe, expect, it } from "vitest";
import { A2AError, type A2AErrorOptions, invalid, type Reason, reasons } from "../../src/core/error.js";
import { errorDetails } from "../../src/wire/error-details.js";

describe("errorDetails()", () => {
  it("begins with ErrorInfo for every reason", () => {
    for (const reason of Object.keys(reasons) as Reason[]) {
      const [info, ...rest] = errorDetails(new A2AError(reason, "x"));
      expect(info).toEqual({
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason,
        domain: reasons[reason].domain,
      });
      expect(rest).toEqual([]);
    }
  });

  it("carries violations", () => {
    expect(errorDetails(invalid([{ field: "message.parts", description: "is required" }]))[1]).toEqual({
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: [{ field: "message.parts", description: "is required" }],
    });
  });

  it("says when to try again", () => {
    expect(errorDetails(new A2AError("UNAVAILABLE", "x", { retryAfterMs: 1_500 }))[1]).toEqual({
      "@type": "type.googleapis.com/google.rpc.RetryInfo",
      retryDelay: "1.500s",
    });
  });

  it("has a JSON form whatever an author without types has given", () => {
    const options = { metadata: { max: 5 }, violations: [{ field: 7 }, { field: "\ud800" }], retryAfterMs: Number.NaN };
    const [info, bad, ...rest] = errorDetails(
      new A2AError("INVALID_PARAMS", "x", options as unknown as A2AErrorOptions),
    );
    expect(info).toMatchObject({ metadata: { max: "5" } });
    expect(bad).toMatchObject({ fieldViolations: [{ field: "7", description: "undefined" }, { field: "\ufffd" }] });
    expect(rest).toEqual([]);
  });
});
