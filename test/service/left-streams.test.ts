import { create, type Message } from "@bufbuild/protobuf";
import { afterEach, expect, it, vi } from "vitest";
import { A2AService, SendMessageRequestSchema, StreamResponseSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { anonymous, Call } from "../../src/core/call.js";
import { defaultLimits } from "../../src/core/limits.js";
import { admission } from "../../src/service/interceptors/admission.js";
import { isStream } from "../../src/service/invoke.js";

afterEach(() => void vi.useRealTimers());

it("a stream that was left before its first message does not wait for the end of the caller's credentials", async () => {
  vi.useFakeTimers();
  const { signal } = new AbortController();
  const peer = { address: "", encrypted: false };
  const call = new Call({ binding: "test", header: () => undefined, peer, signal });
  call.caller = { ...anonymous, owner: "alice", authenticated: true, expiresAt: Date.now() + 3_600_000 };

  let store = (): void => {};
  const stored = new Promise<void>((resolve) => {
    store = resolve;
  });
  async function* messages(): AsyncGenerator<Message> {
    await stored;
    yield create(StreamResponseSchema);
  }
  const invoke = admission({ limits: defaultLimits, draining: () => false, audit: undefined, metrics: undefined });
  const method = A2AService.method.sendStreamingMessage;
  const answer = await invoke(async () => messages())({ method, request: create(SendMessageRequestSchema), call });
  if (!isStream(answer)) return expect.fail("The answer is no stream.");

  const stream = answer[Symbol.asyncIterator]();
  const first = stream.next();
  const left = stream.return?.();
  store();
  expect(await first).toEqual({ done: true, value: undefined });
  await left;
  expect(vi.getTimerCount()).toBe(0);
});
