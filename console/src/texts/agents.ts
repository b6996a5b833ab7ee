import { words } from "./words.js";

/** Texts of the pages about agents. */
export const agentWords = {
  callback: {
    title: "Signing in",
    failed: "The sign-in failed",
    unknown: "This tab began no such sign-in. Begin it again at the agent's page, in the tab that you stay in.",
    back: "Go to the agents",
  },
  count: words.count,
} as const;
