import { createA2A } from "parley-a2a";
import { memoryStore } from "parley-a2a/store/memory";
import { greeter } from "./agent";

// One for the process, however often the bundler evaluates this module.
const kept = globalThis as { a2a?: ReturnType<typeof createA2A> };
kept.a2a ??= createA2A({ agent: greeter, store: memoryStore(), basePath: "/agents" });
export const a2a = kept.a2a;
