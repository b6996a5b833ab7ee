// Without its types, which are those of the AI SDK: test/interop compiles it.
await import("../interop/support/ai-agent.js" as string);

export {};
