import { expect, it } from "vitest";
import { start } from "../../examples/delegation/servers.js";
import { TaskState } from "../../gen/lf/a2a/v1/a2a_pb.js";
import { connect } from "../../src/client/index.js";

it("the agent that plans trips asks the other one, whose question its user answers", async () => {
  const { url, stop } = await start(0);
  const client = await connect(url);
  try {
    const asked = await client.send("A trip to the sea");
    expect([asked.state, asked.text]).toEqual([TaskState.INPUT_REQUIRED, "For which day?"]);
    const answer = await client.send({ parts: "Sunday", taskId: asked.taskId as string });
    expect(answer.task?.artifacts.map(({ name }) => name)).toEqual(["forecast", "plan"]);
    expect(answer.text).toContain("Take a hat. Sunday: sunny");
  } finally {
    await client.close();
    await stop();
  }
});
