import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { A2AError, invalid, reasons, taskNotFound, toA2AError } from "../../src/core/error.js";

describe("A2AError", () => {
  it("is a ConnectError, for libraries that ask, and a class of its own for us", () => {
    const error = new A2AError("TASK_NOT_FOUND", "gone");
    expect(error instanceof A2AError).toBe(true);
    expect(error instanceof ConnectError).toBe(true);
    expect(error instanceof Error).toBe(true);
    expect(new ConnectError("x", Code.NotFound) instanceof A2AError).toBe(false);
    expect(ConnectError.from(error)).toBe(error);
  });

  it("carries ErrorInfo with the specification's domain, and its own for what Parley adds (SRV-ERR-07)", () => {
    const [info] = new A2AError("TASK_NOT_CANCELABLE", "no", { metadata: { taskId: "t" } }).findDetails(
      ErrorInfoSchema,
    );
    expect(info).toMatchObject({
      reason: "TASK_NOT_CANCELABLE",
      domain: "a2a-protocol.org",
      metadata: { taskId: "t" },
    });
    expect(new A2AError("UNAVAILABLE", "later").findDetails(ErrorInfoSchema)[0]?.domain).toBe("urn:parley");
  });

  it("lists every violation, and says when to try again (SRV-ERR-10, SRV-ERR-14)", () => {
    const violations = [
      { field: "message.parts", description: "needs at least one element" },
      { field: "message.role", description: "is required" },
    ];
    const [bad] = invalid(violations).findDetails(BadRequestSchema);
    expect(bad?.fieldViolations).toMatchObject(violations);
    const [retry] = new A2AError("UNAVAILABLE", "x", { retryAfterMs: 1_500 }).findDetails(RetryInfoSchema);
    expect(retry?.retryDelay).toMatchObject({ seconds: 1n, nanos: 500_000_000 });
  });

  it("gives the names that published clients look for the domain that they look for", () => {
    const known = Object.entries(reasons).filter(([, row]) => row.domain === "a2a-protocol.org");
    const names = ["INVALID_PARAMS", "INVALID_REQUEST", "PARSE_ERROR", "UNAUTHENTICATED", "METHOD_NOT_FOUND"];
    expect(known.slice(9).map(([reason]) => reason)).toEqual(names);
  });

  it("has the codes of the specification for its nine errors (SRV-ERR-06)", () => {
    const rows = Object.entries(reasons).slice(0, 9);
    expect(rows.map(([reason, row]) => [reason, row.jsonrpc, row.code, row.http])).toEqual([
      ["TASK_NOT_FOUND", -32001, 5, 404],
      ["TASK_NOT_CANCELABLE", -32002, 9, 400],
      ["PUSH_NOTIFICATION_NOT_SUPPORTED", -32003, 9, 400],
      ["UNSUPPORTED_OPERATION", -32004, 9, 400],
      ["CONTENT_TYPE_NOT_SUPPORTED", -32005, 3, 400],
      ["INVALID_AGENT_RESPONSE", -32006, 13, 500],
      ["EXTENDED_AGENT_CARD_NOT_CONFIGURED", -32007, 9, 400],
      ["EXTENSION_SUPPORT_REQUIRED", -32008, 9, 400],
      ["VERSION_NOT_SUPPORTED", -32009, 9, 400],
    ]);
  });
});

describe("toA2AError()", () => {
  it("keeps ours, translates a library's, and hides everything else with its cause for the log (SRV-ERR-18)", () => {
    const ours = taskNotFound("t");
    expect(toA2AError(ours)).toBe(ours);
    expect(toA2AError(new ConnectError("slow", Code.DeadlineExceeded)).reason).toBe("DEADLINE_EXCEEDED");
    const secret = new Error("password=hunter2");
    const hidden = toA2AError(secret);
    expect(hidden.reason).toBe("INTERNAL");
    expect(hidden.message).not.toContain("hunter2");
    expect(hidden.cause).toBe(secret);
    for (const thrown of [undefined, null, "text", 7, {}]) expect(toA2AError(thrown).reason).toBe("INTERNAL");
  });
});
