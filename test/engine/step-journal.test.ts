import { describe, expect, it } from "vitest";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { TurnAborter } from "../../src/agent/abort.js";
import { TurnSteps } from "../../src/agent/steps.js";
import { defaultLimits } from "../../src/core/limits.js";
import { silentLogger } from "../../src/core/log.js";
import { createdDraft, statusDraft } from "../../src/engine/log/draft.js";
import { TaskLog } from "../../src/engine/log/task-log.js";
import { TaskSteps } from "../../src/engine/run/step-journal.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { TaskFold } from "../../src/task/fold.js";
import { firstTurn, scope } from "./support.js";

describe("TaskSteps", () => {
  it("runs no step again whose stored result is gone because another process has ended the task", async () => {
    const place = { taskId: "t", contextId: "c" };
    const head = { ...place, ...scope, state: 0, statusTime: 0, position: 0, generation: 0, lease: null };
    const log = new TaskLog({ store: memoryStore(), head, fold: new TaskFold(), snapshotAt: 0 });
    await log.append(createdDraft(firstTurn, 1));
    const journal = new TaskSteps({ limits: defaultLimits, now: Date.now }, log, async (draft, onStored) => {
      await log.append(draft);
      onStored();
    });
    const turn = { position: 1, aborter: new TurnAborter() };
    let runs = 0;
    const pay = (): Promise<number> => new TurnSteps(turn, journal).run("pay", () => ++runs);
    journal.beginTurn(1, turn.aborter, silentLogger);
    expect([await pay(), await pay()]).toEqual([1, 1]);
    await log.append(statusDraft(place, TaskState.CANCELED, undefined, 1));
    await expect(pay()).rejects.toThrow("The turn is over");
    expect(runs).toBe(1);
  });
});
