import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { A2AError, invalid, reasons, restated, StatusCode, taskNotFound, toA2AError } from "../../src/core/error.js";

/** A second copy of the class, as an agent in a folder with its own node_modules has it. */
// @ts-expect-error: the query, which makes it another module, is nothing that the compiler knows.
const copy: typeof import("../../src/core/error.js") = await import("../../src/core/error.js?copy");

/** Values that throw when they are inspected, or that claim to have every property. */
const hostile: readonly unknown[] = [
  new Proxy({}, { get: throwing, getPrototypeOf: throwing, has: throwing }),
  new Proxy(new Error("x"), { get: throwing, getPrototypeOf: throwing }),
  new Proxy({}, { get: () => true, has: () => true }),
  new Proxy(() => {}, { get: throwing }),
  Proxy.revocable({}, {}).proxy,
  Object.create(null),
  Object.assign(new Error("x"), { name: "ConnectError", code: 5 }),
  Object.assign(new Error("x"), { name: "ConnectError", code: "5", rawMessage: "x" }),
];

function throwing(): never {
  throw new Error("looked at");
}

describe("A2AError", () => {
  it("is an Error with a name, a text and a code of its own", () => {
    const error = new A2AError("TASK_NOT_FOUND", "gone", { cause: "why" });
    expect(error instanceof A2AError && error instanceof Error).toBe(true);
    expect(error).toMatchObject({ name: "A2AError", message: "gone", cause: "why", code: StatusCode.NOT_FOUND });
    expect(error.stack).toContain("A2AError: gone");
    expect(new ConnectError("x", Code.NotFound) instanceof A2AError).toBe(false);
  });

  it("is known across copies of the package, and by its class where another extends it", () => {
    class Special extends A2AError {}
    const foreign = new copy.A2AError("TASK_NOT_FOUND", "gone");
    expect(copy.A2AError).not.toBe(A2AError);
    expect(foreign instanceof A2AError).toBe(true);
    expect(new A2AError("INTERNAL", "x") instanceof copy.A2AError).toBe(true);
    expect(foreign instanceof Special || new A2AError("INTERNAL", "x") instanceof Special).toBe(false);
    expect(new Special("INTERNAL", "x") instanceof A2AError && new Special("INTERNAL", "x") instanceof Special).toBe(
      true,
    );
  });

  it("has one of the reasons", () => {
    for (const reason of ["FORBIDDEN", "", "toString", undefined]) {
      expect(() => new A2AError(reason as never, "x")).toThrow(/is not a reason of A2AError/);
    }
  });

  it("looks at anything without harm", () => {
    for (const value of [
      undefined,
      null,
      "text",
      7,
      Symbol.iterator,
      () => {},
      {},
      new Error("x"),
      ...hostile.slice(0, 2),
    ])
      expect(value instanceof A2AError).toBe(false);
    for (const value of hostile) expect(() => value instanceof A2AError).not.toThrow();
  });

  it("has the codes of google.rpc.Code under their names", () => {
    const theirs = Object.values(Code).filter((code) => typeof code === "number");
    const plain = (name: string): string => name.replace(/_/g, "").toLowerCase().replace("cancelled", "canceled");
    const ours = Object.entries(StatusCode).filter(([name]) => name !== "OK");
    expect(ours.map(([name, code]) => [plain(name), code])).toEqual(theirs.map((code) => [plain(Code[code]), code]));
  });

  it("gives the names that published clients look for the domain that they look for", () => {
    const known = Object.entries(reasons).filter(([, row]) => row.domain === "a2a-protocol.org");
    const names = ["INVALID_PARAMS", "INVALID_REQUEST", "PARSE_ERROR", "UNAUTHENTICATED", "METHOD_NOT_FOUND"];
    names.push("TASK_GENERATION_MISMATCH");
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
    const late = toA2AError(new ConnectError("slow", Code.DeadlineExceeded));
    expect(late).toMatchObject({ reason: "DEADLINE_EXCEEDED", message: "slow" });
    expect(toA2AError(new ConnectError("x", Code.DataLoss)).reason).toBe("INTERNAL");
    const secret = new Error("password=hunter2");
    const hidden = toA2AError(secret);
    expect(hidden.reason).toBe("INTERNAL");
    expect(hidden.message).not.toContain("hunter2");
    expect(hidden.cause).toBe(secret);
    for (const thrown of [undefined, null, "text", 7, {}]) expect(toA2AError(thrown).reason).toBe("INTERNAL");
    for (const thrown of hostile) expect(toA2AError(thrown).reason).toBe("INTERNAL");
  });

  it("makes one of ours of that of another copy, with all it says", () => {
    const violations = [{ field: "message", description: "is odd" }];
    const options = { metadata: { a: "b" }, violations, retryAfterMs: 5, headers: { "x-a": "1" } };
    const foreign = new copy.A2AError("CONTENT_TYPE_NOT_SUPPORTED", "no", options);
    const error = toA2AError(foreign);
    expect(A2AError.isOwn(error)).toBe(true);
    const { metadata, retryAfterMs, headers } = error;
    expect([error.reason, error.message, error.row]).toEqual([foreign.reason, "no", foreign.row]);
    expect({ metadata, violations: error.violations, retryAfterMs, headers: Object.fromEntries(headers) }).toEqual(
      options,
    );
    expect(error.cause).toBe(foreign);
    // A later version may have reasons that this one does not know.
    const later = Object.assign(new copy.A2AError("INTERNAL", "no"), { reason: "OF_TOMORROW" });
    expect(toA2AError(later).reason).toBe("INTERNAL");
  });
});

describe("restated()", () => {
  it("changes what is named, adds to the metadata and keeps the rest", () => {
    const kept = { violations: [{ field: "a", description: "is odd" }], retryAfterMs: 5, cause: new Error("why") };
    const error = new A2AError("UNAVAILABLE", "no", { ...kept, metadata: { a: "b" }, headers: { "x-a": "1" } });
    const copy = restated(error, { reason: "INTERNAL", metadata: { c: "d" } });
    expect(copy).toMatchObject({ ...kept, reason: "INTERNAL", message: "no", metadata: { a: "b", c: "d" } });
    expect([...copy.headers]).toEqual([["x-a", "1"]]);
    expect(restated(copy, { message: "yes", violations: [], cause: error })).toMatchObject({
      ...{ reason: "INTERNAL", message: "yes", violations: [], cause: error, retryAfterMs: 5 },
    });
    expect(error.metadata).toEqual({ a: "b" });
  });
});

describe("invalid()", () => {
  it("names every violation in its text (SRV-ERR-10)", () => {
    const error = invalid([
      { field: "a", description: "is required" },
      { field: "", description: "is odd" },
    ]);
    expect(error.message).toBe("Invalid parameters: a: is required; is odd");
    expect(error.violations).toHaveLength(2);
  });
});
