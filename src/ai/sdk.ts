import { lazyImport } from "../core/lazy.js";

/** Imports the AI SDK, which is an optional peer. */
export const aiSdk: () => Promise<typeof import("ai")> = lazyImport(async () => {
  try {
    return await import("ai");
  } catch (cause) {
    throw new Error("aiAgent needs the AI SDK, the package ai, which could not be loaded.", { cause });
  }
});
