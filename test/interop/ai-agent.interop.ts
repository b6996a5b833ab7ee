import { expect, it } from "vitest";
import { aiSdk } from "../../src/ai/sdk.js";

/* Agents of a model with version 6 of the AI SDK. */

it("these tests use version 6", async () => {
  // The name of version 7 is isStepCount.
  expect(await aiSdk()).not.toHaveProperty("isStepCount");
});

await import("./support/ai-agent.js");
