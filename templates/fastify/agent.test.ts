import { equal } from "node:assert/strict";
import { test } from "node:test";
import { TaskState } from "parley-a2a";
import { testAgent, textOf } from "parley-a2a/testing";
import { agent } from "./agent.js";

test("splits a text into its sentences", async () => {
  await using t = testAgent(agent);
  const task = await t.send("One. Two!");
  equal(task.artifacts[0]?.parts.length, 2);
  equal(textOf(task), "One. Two!");
});

test("refuses a message without a text", async () => {
  await using t = testAgent(agent);
  const task = await t.send(" ");
  equal(task.status?.state, TaskState.FAILED);
});
