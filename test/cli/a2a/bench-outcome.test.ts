import { create, toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { Role, SendMessageResponseSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { outcomesOf } from "../../../src/cli/a2a/bench/outcome.js";
import type { HttpAnswer } from "../../../src/client/platform.js";

const payload = { case: "message", value: { messageId: "m", role: Role.AGENT } } as const;
const binary = toBinary(SendMessageResponseSchema, create(SendMessageResponseSchema, { payload }));
const event = Buffer.from('data: {"message":{"messageId":"m","role":"ROLE_AGENT"}}\n\n');

it.each([
  ["CONNECT", "send", "Application/Proto; charset=utf-8", binary],
  ["HTTP+JSON", "stream", "Text/Event-Stream; charset=utf-8", event],
] as const)(
  "reads an answer of %s whose media type is in another case",
  async (binding, operation, contentType, body) => {
    const answer = { status: 200, contentType, headers: new Headers(), read: async (take) => take(body) } as HttpAnswer;
    expect((await outcomesOf(binding, operation)(answer)).fault).toBeUndefined();
  },
);
