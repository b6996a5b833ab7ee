import { vi } from "vitest";

vi.mock("ai", () => import("./stand-in.js"));
vi.mock("ai/test", () => import("./stand-in.js"));

// Without its types, which are those of the AI SDK: test/interop compiles it.
await import("../interop/support/ai-agent.js" as string);
