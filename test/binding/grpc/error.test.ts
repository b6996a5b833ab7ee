import { fromBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import { statusOf, trailersOf } from "../../../src/binding/grpc/error.js";
import { A2AError, type A2AErrorOptions, invalid, reasons } from "../../../src/core/error.js";

function statusIn(error: A2AError) {
  const trailers = trailersOf(statusOf(error));
  const details = Buffer.from(trailers["grpc-status-details-bin"] ?? "", "base64");
  return { trailers, status: fromBinary(StatusSchema, details), size: details.length };
}

describe("statusOf()", () => {
  it.each(Object.keys(reasons) as (keyof typeof reasons)[])("gives %s its code and its ErrorInfo first", (reason) => {
    const error = new A2AError(reason, "No.", { metadata: { a: "b" }, retryAfterMs: 1_500 });
    const { status } = statusIn(error);
    expect(statusOf(error)).toMatchObject({ code: reasons[reason].code, message: "No." });
    expect(status).toMatchObject({ code: reasons[reason].code, message: "No." });
    expect(status.details).toHaveLength(2);
    const info = fromBinary(ErrorInfoSchema, status.details[0]?.value ?? new Uint8Array());
    expect(info).toMatchObject({ reason, domain: reasons[reason].domain, metadata: { a: "b" } });
  });

  it("stays below what clients accept as metadata, however much is wrong", () => {
    const violations = Array.from({ length: 1_000 }, (_, i) => ({
      field: `message.parts[${i}]`,
      description: "ist zu schön",
    }));
    const error = invalid(violations);
    const { status, size } = statusIn(error);
    expect(size).toBeLessThan(6_000);
    expect(encodeURI(statusOf(error).message).length).toBeLessThanOrEqual(2_048);
    const bad = fromBinary(BadRequestSchema, status.details[1]?.value ?? new Uint8Array());
    expect(bad.fieldViolations.length).toBeGreaterThan(10);
    expect(bad.fieldViolations[0]).toMatchObject(violations[0] ?? {});
  });

  it("leaves out a detail that is too large, and keeps the next", () => {
    const error = new A2AError("UNAVAILABLE", "Later.", { metadata: { a: "x".repeat(10_000) }, retryAfterMs: 1_000 });
    expect(statusIn(error).status.details.map((any) => any.typeUrl)).toEqual([
      "type.googleapis.com/google.rpc.RetryInfo",
    ]);
  });

  it("encodes whatever an author without types has given as a detail", () => {
    const untyped = { metadata: { max: 5 }, retryAfterMs: Number.POSITIVE_INFINITY } as unknown as A2AErrorOptions;
    const { status } = statusIn(new A2AError("UNAVAILABLE", "Later.", untyped));
    expect(status.details.map((any) => any.typeUrl)).toEqual(["type.googleapis.com/google.rpc.ErrorInfo"]);
  });

  it("sends text that cannot be encoded as it stands", () => {
    const cut = "👋🏽".slice(0, 1);
    expect(statusOf(new A2AError("INTERNAL", `a${cut}b`)).message).toBe("a\ufffdb");
    expect(statusOf(new A2AError("INTERNAL", "👋🏽")).message).toBe("👋🏽");
    expect(() => encodeURI(statusOf(new A2AError("INTERNAL", "👋".repeat(3_000))).message)).not.toThrow();
  });

  it("sends headers as trailers, but none that gRPC cannot carry", () => {
    const headers = {
      "www-authenticate": 'Bearer realm="a"',
      "x-name": "schön",
      "x-data-bin": "AAAA",
      connection: "close",
    };
    const { trailers } = statusIn(new A2AError("UNAUTHENTICATED", "No.", { headers }));
    expect(trailers).toMatchObject({
      "www-authenticate": 'Bearer realm="a"',
      "grpc-status": "16",
      "grpc-message": "No.",
    });
    expect(Object.keys(trailers).toSorted()).toEqual([
      "grpc-message",
      "grpc-status",
      "grpc-status-details-bin",
      "www-authenticate",
    ]);
  });
});
