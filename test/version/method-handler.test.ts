import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { A2AService, GetTaskRequestSchema, TaskSchema } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { type Call, SharedHold } from "../../src/core/call.js";
import { again } from "../../src/version/method-handler.js";

it("leaves what a call holds to the call, when it calls the service again", async () => {
  let freed = 0;
  const held = new SharedHold(() => freed++);
  const call = { held, share: undefined } as unknown as Call;
  const asked = { method: A2AService.method.getTask, request: create(GetTaskRequestSchema), call };
  await again(async (inner) => {
    inner.call.held?.release();
    return create(TaskSchema);
  }, asked);
  expect([freed, call.held]).toEqual([0, held]);
});
