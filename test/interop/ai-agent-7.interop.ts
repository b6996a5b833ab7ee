import { expect, it, vi } from "vitest";
import { aiSdk } from "../../src/ai/sdk.js";

/* Agents of a model with version 7 of the AI SDK. */

vi.mock("ai", () => import("ai-7"));
vi.mock("ai/test", () => import("ai-7/test"));

it("these tests use version 7", async () => {
  // The name of version 6 is stepCountIs.
  expect(await aiSdk()).toHaveProperty("isStepCount");
});

await import("./support/ai-agent.js");
