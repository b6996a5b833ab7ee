import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient } from "../../src/client/index.js";
import { connect, serve } from "./world.js";

/** Streams a task until a text, or to its end. Returns the generation there. */
async function countedUntil(client: A2AClient, text?: string): Promise<{ taskId: string; generation: number }> {
  let told = { taskId: "", generation: 0 };
  for await (const update of client.stream("count")) {
    told = { taskId: update.task?.id ?? "", generation: update.generation ?? 0 };
    if (update.text === text) break;
  }
  return told;
}

describe("follow() after a generation", () => {
  it("tells no text twice of a task that was over then, and how it stands", async () => {
    const client = await connect((await serve()).url);
    const { taskId, generation } = await countedUntil(client);
    const updates: unknown[] = [];
    for await (const { kind, text, task } of client.follow(taskId, { afterGeneration: generation })) {
      updates.push([kind, text, task?.status?.state]);
    }
    expect(updates).toEqual([["task", "", TaskState.COMPLETED]]);
  });

  it("tells all of one that has gone on to its end since, but for what was before", async () => {
    const client = await connect((await serve()).url);
    const { taskId, generation } = await countedUntil(client, "two ");
    let text = "";
    for await (const update of client.follow(taskId, { afterGeneration: generation })) text += update.text;
    expect(text).toBe("three");
  });
});
