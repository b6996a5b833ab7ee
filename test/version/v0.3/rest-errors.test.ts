import { describe, expect, it } from "vitest";
import { errorOfBody } from "../../../src/client/errors/answer-errors.js";
import { A2AError, type Reason, reasons } from "../../../src/core/error.js";
import { rest } from "../../../src/version/v0.3/rest.js";

/**
 * Classes that `RestErrorMapper` of the Java library 0.3.3.Final knows. It reads only the message of an error with any
 * other class, and fails if the class is missing.
 */
const classes: readonly (readonly [Reason, string])[] = [
  ["TASK_NOT_FOUND", "io.a2a.spec.TaskNotFoundError"],
  ["TASK_NOT_CANCELABLE", "io.a2a.spec.TaskNotCancelableError"],
  ["PUSH_NOTIFICATION_NOT_SUPPORTED", "io.a2a.spec.PushNotificationNotSupportedError"],
  ["UNSUPPORTED_OPERATION", "io.a2a.spec.UnsupportedOperationError"],
  ["EXTENSION_SUPPORT_REQUIRED", "io.a2a.spec.UnsupportedOperationError"],
  ["CONTENT_TYPE_NOT_SUPPORTED", "io.a2a.spec.ContentTypeNotSupportedError"],
  ["INVALID_AGENT_RESPONSE", "io.a2a.spec.InvalidAgentResponseError"],
  ["EXTENDED_AGENT_CARD_NOT_CONFIGURED", "io.a2a.spec.AuthenticatedExtendedCardNotConfiguredError"],
  ["PARSE_ERROR", "io.a2a.spec.JSONParseError"],
  ["INVALID_REQUEST", "io.a2a.spec.InvalidRequestError"],
  ["METHOD_NOT_FOUND", "io.a2a.spec.MethodNotFoundError"],
  ["INVALID_PARAMS", "io.a2a.spec.InvalidParamsError"],
  ["INTERNAL", "io.a2a.spec.InternalError"],
];

const bodyOf = (reason: Reason): Record<string, unknown> => JSON.parse(rest.error(new A2AError(reason, "It is so.")));

describe("errors of 0.3 over HTTP+JSON", () => {
  it.each(classes)("name the class of the Java library: %s", (reason, name) => {
    expect(bodyOf(reason)).toMatchObject({ error: name, message: "It is so.", code: expect.any(Number) });
  });

  it.each(Object.keys(reasons) as Reason[])("have a name, and are read as what they are: %s", (reason) => {
    const body = bodyOf(reason);
    expect(body.error).toMatch(/^(?:io\.a2a\.spec\.[A-Za-z]+Error|[A-Z_]+)$/);
    const head = { status: rest.statuses?.[reason] ?? reasons[reason].http, contentType: "", headers: new Headers() };
    expect(errorOfBody(body, head)).toMatchObject({ reason, message: "It is so." });
  });
});
