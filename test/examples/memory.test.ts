import { expect, it } from "vitest";
import { agent } from "../../examples/memory/agent.js";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { testAgent, textOf } from "../../src/testing/index.js";

it("the agent that remembers plans once, asks, and books what it has planned before the question", async () => {
  await using test = testAgent(agent);
  const asked = await test.send("Rome and Oslo");
  expect(asked.status?.state).toBe(TaskState.INPUT_REQUIRED);
  await test.crash();
  const booked = await test.send("Yes", { task: asked });
  expect(booked.status?.state).toBe(TaskState.COMPLETED);
  expect(textOf(booked)).toBe("A room in Rome\nA room in Oslo");
  expect(await test.steps(booked)).toMatchObject([
    { name: "plan", result: { stops: ["Rome", "Oslo"] } },
    { name: "book", result: "A room in Rome", attempts: 1 },
    { name: "book", result: "A room in Oslo", error: undefined },
  ]);
});

it("the agent that remembers books nothing if the user answers no", async () => {
  await using test = testAgent(agent);
  const asked = await test.send("Rome and Oslo");
  const task = await test.send("No", { task: asked });
  expect([task.status?.state, textOf(task)]).toEqual([TaskState.COMPLETED, "Nothing is booked."]);
  expect(await test.steps(task)).toMatchObject([{ name: "plan" }]);
});
