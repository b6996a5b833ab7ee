import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { HelpSchema } from "../../gen/google/rpc/error_details_pb.js";
import { A2AError, invalid, type Reason, reasons } from "../../src/core/error.js";
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

  it("unpacks details of known types that came in binary, and drops others", () => {
    const error = new A2AError("INTERNAL", "x");
    const help = create(HelpSchema, { links: [{ url: "https://example.com" }] });
    error.details.push(
      { type: HelpSchema.typeName, value: toBinary(HelpSchema, help) },
      { type: "x.Y", value: new Uint8Array() },
    );
    expect(errorDetails(error).slice(1)).toEqual([
      { "@type": "type.googleapis.com/google.rpc.Help", links: [{ url: "https://example.com" }] },
    ]);
  });
});
