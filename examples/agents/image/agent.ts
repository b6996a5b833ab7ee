import { imageAgent } from "./image.js";

/** The agent with every picture inline, for `parley serve`; server.ts hands out pictures by URL as well. */
export const agent = await imageAgent();
