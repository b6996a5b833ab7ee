import { expect, it, vi } from "vitest";
import { aiSdk } from "../../src/ai/sdk.js";

/* Agents of a model with version 7 of the AI SDK. The tests of test/ai run with version 6, and here once more. */

vi.mock("../../node_modules/ai/dist/index.mjs", () => import("ai-7"));
vi.mock("../../node_modules/ai/dist/test/index.mjs", () => import("ai-7/test"));

it("these tests use version 7", async () => {
  // The name of version 6 is stepCountIs.
  expect(await aiSdk()).toHaveProperty("isStepCount");
});

await import("../ai/agent.test.js");
