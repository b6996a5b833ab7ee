import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BadRequestSchema, ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../../gen/google/rpc/status_pb.js";
import { freshForMs } from "../../src/client/discovery/card-cache.js";
import { errorOfAnswer, errorOfBody, errorOfHead, errorOfRpc } from "../../src/client/errors/answer-errors.js";
import { clientError, connectErrorOf, neverArrived, unknownArrival } from "../../src/client/errors/errors.js";
import { errorInConnect, errorInTrailers } from "../../src/client/transport/wire-errors.js";
import { A2AError, type Reason, reasons, StatusCode } from "../../src/core/error.js";
import { errorDetails, restError } from "../../src/wire/error-details.js";
import { errorEnvelope } from "../../src/wire/jsonrpc-envelope.js";

const head = (status: number, contentType = "application/json", headers: Record<string, string> = {}) => ({
  status,
  contentType,
  headers: new Headers({ "content-type": contentType, ...headers }),
});

const info = (reason: string, metadata: object = {}): object => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason,
  domain: "a2a-protocol.org",
  metadata,
});

/** JSON-RPC errors as several servers and releases write them. */
const rpc: readonly (readonly [string, object, number, Reason])[] = [
  ["a code of the specification", { code: -32001, message: "no" }, 200, "TASK_NOT_FOUND"],
  ["another one", { code: -32002, message: "no" }, 200, "TASK_NOT_CANCELABLE"],
  ["push", { code: -32003, message: "no" }, 200, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
  ["unsupported", { code: -32004, message: "no" }, 200, "UNSUPPORTED_OPERATION"],
  ["content type", { code: -32005, message: "no" }, 200, "CONTENT_TYPE_NOT_SUPPORTED"],
  ["agent response", { code: -32006, message: "no" }, 200, "INVALID_AGENT_RESPONSE"],
  ["extended card", { code: -32007, message: "no" }, 200, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"],
  ["extension", { code: -32008, message: "no" }, 200, "EXTENSION_SUPPORT_REQUIRED"],
  ["version", { code: -32009, message: "no" }, 200, "VERSION_NOT_SUPPORTED"],
  ["JSON-RPC's own", { code: -32601, message: "no" }, 200, "METHOD_NOT_FOUND"],
  ["params", { code: -32602, message: "no" }, 200, "INVALID_PARAMS"],
  ["request", { code: -32600, message: "no" }, 200, "INVALID_REQUEST"],
  ["parse", { code: -32700, message: "no" }, 200, "PARSE_ERROR"],
  ["internal", { code: -32603, message: "no" }, 200, "INTERNAL"],
  ["a reason, whatever the code", { code: -32000, message: "no", data: [info("UNAVAILABLE")] }, 200, "UNAVAILABLE"],
  [
    "an object in the place of the list (1.0.0)",
    { code: -32000, message: "no", data: info("TASK_NOT_FOUND") },
    200,
    "TASK_NOT_FOUND",
  ],
  [
    "a reason that is not known",
    { code: -32004, message: "no", data: [info("NEW_ONE")] },
    200,
    "UNSUPPORTED_OPERATION",
  ],
  ["a name in the text", { code: -32000, message: "TaskNotCancelableError: it is over" }, 200, "TASK_NOT_CANCELABLE"],
  ["a code of nobody with a status", { code: -32000, message: "no" }, 401, "UNAUTHENTICATED"],
  ["a code of nobody without one", { code: -31999, message: "no" }, 200, "INTERNAL"],
];

/** Bodies of error answers. */
const bodies: readonly (readonly [string, object, number, Reason])[] = [
  [
    "a Status with a reason",
    { error: { code: 400, status: "FAILED_PRECONDITION", message: "no", details: [info("VERSION_NOT_SUPPORTED")] } },
    400,
    "VERSION_NOT_SUPPORTED",
  ],
  ["one without details", { error: { code: 404, status: "NOT_FOUND", message: "no" } }, 404, "TASK_NOT_FOUND"],
  [
    "1.0.0: not cancelable",
    { error: { code: 409, status: "FAILED_PRECONDITION", message: "no" } },
    409,
    "TASK_NOT_CANCELABLE",
  ],
  ["1.0.0: content type", { error: { code: 415, message: "no" } }, 415, "CONTENT_TYPE_NOT_SUPPORTED"],
  ["1.0.0: agent response", { error: { code: 502, status: "INTERNAL", message: "no" } }, 502, "INVALID_AGENT_RESPONSE"],
  ["a Status as it is, by the code of gRPC", { code: 5, message: "no", details: [] }, 404, "TASK_NOT_FOUND"],
  ["by the name alone", { error: { status: "INVALID_ARGUMENT", message: "no" } }, 400, "INVALID_PARAMS"],
  [
    "a precondition",
    { error: { code: 400, status: "FAILED_PRECONDITION", message: "no" } },
    400,
    "UNSUPPORTED_OPERATION",
  ],
  ["an error of JSON-RPC over HTTP", { error: { code: -32001, message: "no" } }, 404, "TASK_NOT_FOUND"],
  ["the same without its frame", { code: -32002, message: "no" }, 400, "TASK_NOT_CANCELABLE"],
  [
    "a problem document",
    { type: "https://a2a-protocol.org/errors/task-not-found", title: "no", status: 404 },
    404,
    "TASK_NOT_FOUND",
  ],
  [
    "a class of the Java library, in the place of an error",
    { error: "io.a2a.spec.TaskNotFoundError", message: "Task not found" },
    200,
    "TASK_NOT_FOUND",
  ],
  [
    "the same whatever the status says",
    { error: "io.a2a.spec.PushNotificationNotSupportedError", message: "" },
    501,
    "PUSH_NOTIFICATION_NOT_SUPPORTED",
  ],
  ["a problem of another kind", { type: "about:blank", title: "no", status: 503 }, 503, "UNAVAILABLE"],
];

/** Bodies of other programs, such as a proxy. */
const plain: readonly (readonly [number, string, string, Reason])[] = [
  [502, "text/html", "<html><h1>Bad Gateway</h1></html>", "UNAVAILABLE"],
  [503, "text/plain", "try later", "UNAVAILABLE"],
  [504, "text/html", "<html>", "UNAVAILABLE"],
  [522, "text/html", "<html>", "UNAVAILABLE"],
  [500, "text/plain", "oops", "INTERNAL"],
  [404, "application/json", '{"detail":"Not Found"}', "METHOD_NOT_FOUND"],
  [405, "text/plain", "", "METHOD_NOT_ALLOWED"],
  [401, "application/json", '{"error":"unauthorized"}', "UNAUTHENTICATED"],
  [500, "application/json", '{"error":"java.lang.OutOfMemoryError","message":"heap"}', "INTERNAL"],
  [403, "text/html", "<html>", "PERMISSION_DENIED"],
  [413, "text/html", "<html>", "REQUEST_TOO_LARGE"],
  [429, "text/plain", "slow down", "TOO_MANY_REQUESTS"],
  [421, "", "", "HOST_NOT_ALLOWED"],
  [418, "", "", "INVALID_REQUEST"],
  [302, "text/html", "<html>", "INVALID_AGENT_RESPONSE"],
  [200, "text/html", "<html>Welcome</html>", "INVALID_AGENT_RESPONSE"],
  [204, "", "", "INVALID_AGENT_RESPONSE"],
];

describe("errors of servers", () => {
  it.each(rpc)("of JSON-RPC: %s", (_, error, status, reason) => {
    expect(errorOfRpc(error, head(status))?.reason).toBe(reason);
  });

  it("of HTTP+JSON: a problem document by its media type alone, in any case and with parameters", () => {
    const answer = head(404, "Application/Problem+JSON; charset=utf-8");
    expect(errorOfBody({ detail: "Nothing is here." }, answer)?.message).toBe("Nothing is here.");
  });

  it.each(bodies)("of HTTP+JSON: %s", (_, body, status, reason) => {
    expect(errorOfBody(body, head(status))?.reason).toBe(reason);
  });

  it.each(plain)("of anybody: %i %s %s", (status, type, body, reason) => {
    const error = errorOfAnswer(body, head(status, type));
    expect(error.reason).toBe(reason);
    expect(error.message).toContain(`HTTP ${status}`);
    expect(error.message).not.toContain("<");
  });

  it("keep what came with them: unknown reasons, metadata, violations, times, headers", () => {
    const violations = {
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: [{ field: "a.b", description: "no" }],
    };
    const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.5s" };
    const data = [{ "@type": "x/unknown", hint: "h" }, info("NEW_ONE", { n: "1" }), violations, retry];
    const error = errorOfRpc(
      { code: -32602, message: "m", data },
      head(200, "application/json", { "www-authenticate": "Bearer" }),
    );
    expect(error).toMatchObject({
      reason: "INVALID_PARAMS",
      message: "m",
      metadata: { n: "1", reason: "NEW_ONE", domain: "a2a-protocol.org" },
      violations: [{ field: "a.b", description: "no" }],
      retryAfterMs: 1500,
    });
    expect(error?.headers.get("www-authenticate")).toBe("Bearer");
    const busy = errorOfHead(head(429, "text/plain", { "retry-after": "7" }), "slow down");
    expect(busy).toMatchObject({ retryAfterMs: 7000, metadata: { httpStatus: "429" } });
    const late = errorOfHead(head(503, "", { "retry-after": new Date(Date.now() + 60_000).toUTCString() }));
    expect(late.retryAfterMs).toBeGreaterThan(50_000);
  });

  it("are what our own server wrote, over every wire", () => {
    for (const reason of Object.keys(reasons) as Reason[]) {
      const error = new A2AError(reason, "Why: ä", {
        metadata: { taskId: "t" },
        violations: [{ field: "f", description: "d" }],
        retryAfterMs: 1250,
      });
      const same = {
        reason,
        message: "Why: ä",
        metadata: { taskId: "t" },
        violations: error.violations,
        retryAfterMs: 1250,
      };
      expect(errorOfRpc(JSON.parse(errorEnvelope(1, error)).error, head(200))).toMatchObject(same);
      expect(errorOfBody(JSON.parse(restError(error)), head(error.row.http))).toMatchObject(same);
      expect(clientError(connectErrorOf(error))).toBe(error);
      const thrown = connectErrorOf(error);
      thrown.cause = undefined;
      expect(clientError(thrown)).toMatchObject(same);
      expect(errorDetails(clientError(thrown))).toEqual(errorDetails(error));
    }
  });

  it("of gRPC are read from trailers, with details and without", () => {
    const details = [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: "TASK_NOT_CANCELABLE", domain: "x" }))];
    details.push(
      anyPack(BadRequestSchema, create(BadRequestSchema, { fieldViolations: [{ field: "f", description: "d" }] })),
    );
    const status = toBinary(StatusSchema, create(StatusSchema, { code: 9, message: "whole", details }));
    const packed = Buffer.from(status).toString("base64");
    const trailers = new Headers({ "grpc-status": "9", "grpc-message": "cut", "grpc-status-details-bin": packed });
    expect(errorInTrailers(trailers, new Headers({ a: "b" }))).toMatchObject({
      reason: "TASK_NOT_CANCELABLE",
      message: "whole",
      violations: [{ field: "f", description: "d" }],
    });
    const bare: readonly [string, Reason][] = [
      ["5", "TASK_NOT_FOUND"],
      ["12", "METHOD_NOT_FOUND"],
      ["14", "UNAVAILABLE"],
      ["16", "UNAUTHENTICATED"],
      ["99", "INTERNAL"],
      ["x", "INTERNAL"],
      ["", "INTERNAL"],
    ];
    for (const [code, reason] of bare) {
      const error = errorInTrailers(new Headers({ "grpc-status": code, "grpc-message": "a%20b" }), new Headers());
      expect(error).toMatchObject({ reason, message: "a b" });
    }
    expect(errorInTrailers(new Headers({ "grpc-status": "0" }), new Headers())).toBeUndefined();
    const broken = new Headers({ "grpc-status": "3", "grpc-status-details-bin": "!!", "grpc-message": "%zz" });
    expect(errorInTrailers(broken, new Headers())).toMatchObject({ reason: "INVALID_PARAMS", message: "%zz" });
    expect(errorInConnect({ code: "canceled", message: "m" }, new Headers())?.reason).toBe("CANCELLED");
    expect(
      errorInConnect({ code: "not_found", details: [{ type: "google.rpc.ErrorInfo", value: "%%" }] }, new Headers())
        ?.reason,
    ).toBe("TASK_NOT_FOUND");
    expect(errorInConnect({ error: "x" }, new Headers())).toBeUndefined();
  });
});

/** Errors that libraries and runtimes throw. */
const thrown: readonly (readonly [string, unknown, Reason])[] = [
  [
    "nobody listens",
    Object.assign(new Error("connect ECONNREFUSED 10.0.0.1:80"), { code: "ECONNREFUSED" }),
    "UNAVAILABLE",
  ],
  [
    "fetch of Node.js",
    new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ENOTFOUND" }) }),
    "UNAVAILABLE",
  ],
  ["fetch of Chrome", new TypeError("Failed to fetch"), "UNAVAILABLE"],
  ["fetch of Firefox", new TypeError("NetworkError when attempting to fetch resource."), "UNAVAILABLE"],
  ["fetch of Safari", new TypeError("Load failed"), "UNAVAILABLE"],
  ["fetch of workerd, cut", Object.assign(new Error("Network connection lost."), { retryable: true }), "UNAVAILABLE"],
  ["fetch of workerd, of a host without an address", new Error("internal error; reference = r86o5m"), "UNAVAILABLE"],
  [
    "a cut",
    new ConnectError("x", Code.Aborted, undefined, undefined, Object.assign(new Error("x"), { code: "ECONNRESET" })),
    "UNAVAILABLE",
  ],
  [
    "a stream of HTTP/2 that was reset",
    new ConnectError("http/2 stream closed with error code CANCEL (0x8)", Code.Canceled),
    "UNAVAILABLE",
  ],
  [
    "an end that is missing",
    new ConnectError("protocol error: missing EndStreamResponse", Code.InvalidArgument),
    "UNAVAILABLE",
  ],
  [
    "an answer of something else",
    new ConnectError("unsupported content type text/html", Code.Unknown),
    "INVALID_AGENT_RESPONSE",
  ],
  ["a status of HTTP", new ConnectError("HTTP 404", Code.Unimplemented), "METHOD_NOT_FOUND"],
  ["the caller who stopped", new DOMException("stop", "AbortError"), "CANCELLED"],
  ["a time that is over", new DOMException("late", "TimeoutError"), "DEADLINE_EXCEEDED"],
  ["a deadline", new ConnectError("late", Code.DeadlineExceeded), "DEADLINE_EXCEEDED"],
  ["a fault of the program", new TypeError("x is not a function"), "INTERNAL"],
  ["no error at all", "oops", "INTERNAL"],
  ["nothing", undefined, "INTERNAL"],
];

describe("clientError()", () => {
  it.each(thrown)("knows %s", (_, error, reason) => {
    expect(clientError(error).reason).toBe(reason);
  });

  it("never throws, whatever there is", () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
      },
    );
    expect(clientError(hostile)).toBeInstanceOf(A2AError);
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(clientError(value)).toBeInstanceOf(A2AError);
      }),
    );
  });

  it("says that nothing has left where there was no connection, and only there", () => {
    const at = (code: string, more: object = {}): unknown =>
      clientError(Object.assign(new Error("x"), { code, ...more }));
    for (const code of ["ECONNREFUSED", "ENOTFOUND", "UND_ERR_CONNECT_TIMEOUT", "CERT_HAS_EXPIRED", "EHOSTUNREACH"])
      expect(neverArrived(at(code)), code).toBe(true);
    expect(neverArrived(at("ETIMEDOUT", { syscall: "connect" }))).toBe(true);
    for (const code of ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "ETIMEDOUT"])
      expect(neverArrived(at(code)), code).toBe(false);
    expect(StatusCode.UNAVAILABLE).toBe(Code.Unavailable);
  });

  it("reads any JSON as an error or as none", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 200, max: 599 }), (json, status) => {
        for (const error of [
          errorOfRpc(json, head(status)),
          errorOfBody(json, head(status)),
          errorOfBody({ error: json }, head(status)),
        ])
          if (error !== undefined) expect(error).toBeInstanceOf(A2AError);
        expect(errorOfAnswer(JSON.stringify(json), head(status))).toBeInstanceOf(A2AError);
      }),
    );
  });
});

describe("the text of a server's error", () => {
  const said = "Red \u001b[31m,\r\nline\u009b2J, \u202eturned\u2028.";
  const trailers = new Headers({ "grpc-status": "13", "grpc-message": encodeURIComponent(said) });
  const packed = Buffer.from(toBinary(StatusSchema, create(StatusSchema, { code: 13, message: said }))).toString(
    "base64",
  );

  it.each([
    ["JSON-RPC", () => errorOfRpc({ code: -32603, message: said }, head(200))],
    ["HTTP+JSON", () => errorOfBody({ error: { code: 500, status: "INTERNAL", message: said } }, head(500))],
    ["a problem document", () => errorOfBody({ type: "x", title: said }, head(500, "application/problem+json"))],
    ["whatever answers", () => errorOfAnswer(said, head(500, "text/plain"))],
    ["Connect", () => errorInConnect({ code: "internal", message: said }, new Headers())],
    ["gRPC", () => errorInTrailers(trailers, new Headers())],
    [
      "gRPC with details",
      () => errorInTrailers(new Headers({ "grpc-status": "13", "grpc-status-details-bin": packed }), new Headers()),
    ],
    ["Connect's own client", () => clientError(new ConnectError(said, Code.Internal))],
  ])("has no control characters, over %s", (_, made) => {
    expect(made()?.message).toMatch(/Red +\[31m, line 2J, +turned/);
    expect(made()?.message).not.toMatch(/[\p{Cc}\p{Zl}\p{Bidi_Control}]/u);
  });
});

describe("unknownArrival()", () => {
  it.each(["busy", "Busy.", "Busy?"])("begins with the message of the agent as a sentence: %s", (said) => {
    const { message } = unknownArrival(new A2AError("UNAVAILABLE", said));
    expect(message.startsWith(`${said === "busy" ? "busy." : said} It is not known `)).toBe(true);
  });
});

describe("times in headers", () => {
  it("of more digits than anybody means are long, not none", () => {
    const digits = "9".repeat(11);
    expect(errorOfHead(head(503, "text/plain", { "retry-after": digits })).retryAfterMs).toBe(2 ** 31 * 1000);
    expect(freshForMs(new Headers({ "cache-control": `max-age=${digits}` }), 60_000)).toBe(60_000);
    expect(freshForMs(new Headers({ "cache-control": `max-age=5`, age: digits }), 60_000)).toBe(0);
  });
});
