import { create, fromJson } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import {
  A2AService,
  ListTasksRequestSchema,
  Role,
  SendMessageRequestSchema,
  TaskPushNotificationConfigSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import { defaultLimits } from "../../src/core/limits.js";
import { requestBounds } from "../../src/service/rules.js";
import { createValidator } from "../../src/service/validation.js";
import { setConstantsOfFile } from "../support/constants.js";

const limits = { ...defaultLimits, maxParts: 3 };
setConstantsOfFile(requestBounds, { maxIdLength: 8 });
const violationsOf = createValidator(limits);
const fields = (desc: Parameters<typeof violationsOf>[0], request: Parameters<typeof violationsOf>[1]) =>
  violationsOf(desc, request).map(({ field, description }) => `${field} ${description}`);

const part = { content: { case: "text", value: "x" } } as const;

describe("the validator", () => {
  it("lists everything that is missing, at once, with its path (SRV-SEND-20, SRV-ERR-10)", () => {
    expect(fields(SendMessageRequestSchema, create(SendMessageRequestSchema))).toEqual(["message is required"]);
    expect(fields(SendMessageRequestSchema, create(SendMessageRequestSchema, { message: {} }))).toEqual([
      "message.messageId is required",
      "message.role is required",
      "message.parts needs at least one element",
    ]);
  });

  it("looks into lists and names the element (SRV-SEND-21)", () => {
    const message = { messageId: "m", role: Role.USER, parts: [part, {}, part] };
    expect(fields(SendMessageRequestSchema, create(SendMessageRequestSchema, { message }))).toEqual([
      "message.parts[1] needs one of text, raw, url, data",
    ]);
  });

  it("takes an empty text for a text: it is set", () => {
    const message = { messageId: "m", role: Role.USER, parts: [{ content: { case: "text", value: "" } as const }] };
    expect(fields(SendMessageRequestSchema, create(SendMessageRequestSchema, { message }))).toEqual([]);
  });

  it("refuses agents' messages, long ids, too many parts and negative lengths (SRV-SEND-23, SRV-SEC-04)", () => {
    const request = create(SendMessageRequestSchema, {
      message: { messageId: "123456789", role: Role.AGENT, parts: [part, part, part, part] },
      configuration: { historyLength: -1 },
    });
    expect(fields(SendMessageRequestSchema, request)).toEqual([
      "message.messageId is longer than 8 characters",
      "message.role must be ROLE_USER in a message to an agent",
      "message.parts has more than 3 elements",
      "configuration.historyLength must not be negative",
    ]);
  });

  it("refuses ids with a NUL character, which not every store keeps", () => {
    const message = { messageId: "a\0", contextId: "\0b", taskId: "\0", role: Role.USER, parts: [part] };
    expect(fields(SendMessageRequestSchema, create(SendMessageRequestSchema, { message }))).toEqual([
      "message.messageId has a NUL character",
      "message.contextId has a NUL character",
      "message.taskId has a NUL character",
    ]);
    expect(fields(ListTasksRequestSchema, create(ListTasksRequestSchema, { contextId: "\0" }))).toEqual([
      "contextId has a NUL character",
    ]);
  });

  it("holds page size, state and history length of a list to their ranges (SRV-LIST-12, SRV-LIST-13)", () => {
    for (const pageSize of [0, 101, -1]) {
      const request = create(ListTasksRequestSchema, { pageSize, status: 99 as never, historyLength: -2 });
      expect(fields(ListTasksRequestSchema, request)).toEqual([
        "historyLength must not be negative",
        "status is not a known task state",
        "pageSize must be from 1 to 100",
      ]);
    }
    expect(fields(ListTasksRequestSchema, create(ListTasksRequestSchema, { pageSize: 100 }))).toEqual([]);
    expect(fields(ListTasksRequestSchema, create(ListTasksRequestSchema))).toEqual([]);
  });

  it("takes every time that JSON can express, and no other", () => {
    const violations = (seconds: bigint, nanos: number): string[] =>
      fields(ListTasksRequestSchema, create(ListTasksRequestSchema, { statusTimestampAfter: { seconds, nanos } }));
    for (const time of ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"]) {
      const { seconds, nanos } = fromJson(TimestampSchema, time);
      expect(violations(seconds, nanos)).toEqual([]);
    }
    const refused = ["statusTimestampAfter is not a time from year 1 to 9999"];
    expect(violations(-62_135_596_801n, 0)).toEqual(refused);
    expect(violations(253_402_300_800n, 0)).toEqual(refused);
    expect(violations(9_223_372_036_854_775_807n, 0)).toEqual(refused);
    expect(violations(0n, -1)).toEqual(refused);
    expect(violations(0n, 1_000_000_000)).toEqual(refused);
  });

  it("asks for what a push configuration needs (SRV-PCFG-07)", () => {
    const request = create(TaskPushNotificationConfigSchema, { authentication: {} });
    expect(fields(TaskPushNotificationConfigSchema, request)).toEqual([
      "url is required",
      "authentication.scheme is required",
    ]);
  });

  it("knows the request of every method", () => {
    for (const method of A2AService.methods)
      expect(() => violationsOf(method.input, create(method.input))).not.toThrow();
  });

  it("never lists more than a hundred", () => {
    const parts = Array.from({ length: 500 }, () => ({}));
    const request = create(SendMessageRequestSchema, { message: { messageId: "m", role: Role.USER, parts } });
    expect(createValidator(defaultLimits)(SendMessageRequestSchema, request)).toHaveLength(100);
  });
});
