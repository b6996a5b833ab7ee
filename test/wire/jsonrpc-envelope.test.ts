import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { A2AError, invalid } from "../../src/core/error.js";
import { errorEnvelope, parseRequest, resultPrefix } from "../../src/wire/jsonrpc-envelope.js";

const request = (rest: object) => parseRequest({ jsonrpc: "2.0", method: "M", ...rest });

describe("parseRequest()", () => {
  it("reads requests and notifications", () => {
    expect(request({ id: 7, params: { a: 1 } })).toEqual({ id: 7, method: "M", params: { a: 1 } });
    expect(request({ id: null })).toEqual({ id: null, method: "M", params: undefined });
    expect(request({})).toEqual({ id: undefined, method: "M", params: undefined });
  });

  it("keeps the id of what is no request, where it can be read", () => {
    expect(parseRequest({ id: "x", method: "M" })).toMatchObject({ id: "x", fault: expect.any(String) });
    expect(request({ id: 1, jsonrpc: 2 })).toMatchObject({ id: 1, fault: expect.any(String) });
    expect(request({ id: 1, method: null })).toMatchObject({ id: 1, fault: expect.any(String) });
    expect(request({ id: 1, method: 5 })).toMatchObject({ id: 1, fault: expect.any(String) });
    for (const id of [{}, [], true, 1e300, 2 ** 53, Number.POSITIVE_INFINITY]) {
      expect(request({ id })).toMatchObject({ id: null, fault: expect.any(String) });
    }
    for (const json of [null, 1, "x", [], true])
      expect(parseRequest(json)).toMatchObject({ id: null, fault: expect.any(String) });
  });

  it("takes any JSON", () => {
    fc.assert(fc.property(fc.jsonValue(), (json) => void parseRequest(json)));
  });
});

describe("resultPrefix()", () => {
  it("repeats any id with its type", () => {
    const id = fc.oneof(fc.string(), fc.maxSafeInteger(), fc.constant(null), fc.constant(1.5));
    fc.assert(
      fc.property(id, (each) => {
        expect(JSON.parse(`${resultPrefix(each)}{}}`)).toEqual({
          jsonrpc: "2.0",
          id: each === 0 ? 0 : each,
          result: {},
        });
      }),
    );
  });
});

describe("errorEnvelope()", () => {
  it("carries code, text and details, ErrorInfo first", () => {
    const error = new A2AError("TASK_NOT_FOUND", "No such task.", { metadata: { taskId: "t" }, retryAfterMs: 1_500 });
    expect(JSON.parse(errorEnvelope(1, error))).toEqual({
      jsonrpc: "2.0",
      id: 1,
      error: {
        code: -32001,
        message: "No such task.",
        data: [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            reason: "TASK_NOT_FOUND",
            domain: "a2a-protocol.org",
            metadata: { taskId: "t" },
          },
          { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.500s" },
        ],
      },
    });
  });

  it("names violations", () => {
    const { error } = JSON.parse(errorEnvelope(null, invalid([{ field: "a", description: "b" }])));
    expect(error).toMatchObject({
      code: -32602,
      data: [{ reason: "INVALID_PARAMS" }, { fieldViolations: [{ field: "a", description: "b" }] }],
    });
  });
});
