import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "parley-a2a";
import { testAgent, textOf } from "parley-a2a/testing";
import { agent } from "./agent.js";

test("tells the weather of a city", async () => {
  await using t = testAgent(agent);
  const task = await t.send("What is the weather in Oslo?");
  equal(task.status?.state, TaskState.COMPLETED);
  match(textOf(task), /sunny/);
});
