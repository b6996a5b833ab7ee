// Imported without types, because they need those of the AI SDK. The tests in test/interop compile it.
await import("../interop/support/ai-agent.js" as string);

export {};
