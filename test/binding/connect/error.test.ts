import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { connectErrorOf, forConnect } from "../../../src/binding/connect/error.js";
import { A2AError, invalid, type Reason, reasons } from "../../../src/core/error.js";

describe("connectErrorOf()", () => {
  it.each(Object.keys(reasons) as Reason[])("gives %s its code, its text and its ErrorInfo", (reason) => {
    const ours = new A2AError(reason, "No.", { metadata: { a: "b" }, headers: { "WWW-Authenticate": "Bearer" } });
    const error = connectErrorOf(ours);
    expect(Object.getPrototypeOf(error)).toBe(ConnectError.prototype);
    expect(Code[error.code]).toBeDefined();
    expect(error).toMatchObject({ code: reasons[reason].code, rawMessage: "No.", cause: ours });
    expect([...error.metadata]).toEqual([["www-authenticate", "Bearer"]]);
    const { domain } = reasons[reason];
    expect(error.findDetails(ErrorInfoSchema)).toMatchObject([{ reason, domain, metadata: { a: "b" } }]);
  });

  it("lists every violation, and says when to try again (SRV-ERR-10, SRV-ERR-14)", () => {
    const violations = [
      { field: "message.parts", description: "needs at least one element" },
      { field: "message.role", description: "is required" },
    ];
    const [bad] = connectErrorOf(invalid(violations)).findDetails(BadRequestSchema);
    expect(bad?.fieldViolations).toMatchObject(violations);
    const later = connectErrorOf(new A2AError("UNAVAILABLE", "x", { retryAfterMs: 1_500 }));
    expect(later.findDetails(RetryInfoSchema)).toMatchObject([{ retryDelay: { seconds: 1n, nanos: 500_000_000 } }]);
  });
});

describe("forConnect()", () => {
  it("translates ours and leaves all else as it is", () => {
    expect(forConnect(new A2AError("TASK_NOT_FOUND", "x"))).toMatchObject({
      name: "ConnectError",
      code: Code.NotFound,
    });
    const [library, other] = [new ConnectError("x", Code.Aborted), new Error("x")];
    expect(forConnect(library)).toBe(library);
    expect(forConnect(other)).toBe(other);
  });
});
