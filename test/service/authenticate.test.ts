import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { A2AService, GetTaskRequestSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { Call, type Caller } from "../../src/core/call.js";
import { authenticate } from "../../src/service/interceptors/authenticate.js";

const call = (): Call =>
  new Call({
    binding: "test",
    header: () => undefined,
    peer: { address: "", encrypted: false },
    signal: AbortSignal.timeout(60_000),
  });

/** The caller that comes of what an authenticator answers. */
async function callerOf(answer: unknown): Promise<Caller> {
  const asked = call();
  const invoke = authenticate({ authenticate: () => answer as Caller })(async () => create(TaskSchema));
  await invoke({ method: A2AService.method.getTask, request: create(GetTaskRequestSchema), call: asked });
  return asked.caller;
}

describe("authenticate()", () => {
  it("takes what the authenticator says of the caller", async () => {
    const whole = { owner: "me", authenticated: false, scopes: ["a"], claims: { b: 1 } };
    expect(await callerOf(whole)).toEqual(whole);
  });

  it("fills absent fields with the values of an unknown caller", async () => {
    expect(await callerOf({ owner: "me" })).toEqual({ owner: "me", authenticated: true, scopes: [], claims: {} });
  });

  it("refuses callers without an owner (SRV-AUTH-02)", async () => {
    for (const answer of [undefined, null, {}, { owner: 7 }, "me", true]) {
      await expect(callerOf(answer)).rejects.toMatchObject({ reason: "UNAUTHENTICATED" });
    }
  });
});
