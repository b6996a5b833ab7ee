import { afterAll, beforeAll } from "vitest";
import { type Served, serve } from "../test-support/callers.js";
import { describeKills } from "../test-support/kill-loop.js";
import { describeTalks } from "../test-support/talks.js";
import { agent } from "./agent.js";
import { rules } from "./rules.js";

let served: Served;
beforeAll(async () => {
  served = await serve(agent);
});
afterAll(() => served.close());

const file = { "chart.svg": "" };

describeTalks(
  () => served,
  [
    {
      title: "asks for the numbers, and draws them",
      exchanges: [
        { says: "Draw a chart.", state: "input-required", text: "Which numbers?" },
        { says: "10, 20, 30" },
        { says: "Draw 5 and 6.", artifacts: { ...file, answer: "Here is the chart of 5, 6." } },
      ],
    },
    {
      title: "looks up the sales of several years",
      exchanges: [
        {
          says: "Compare the sales of 2024 and 2025.",
          progress: ["Looking up the sales of 2024.", "Looking up the sales of 2025."],
          artifacts: {
            ...file,
            answer: "I look up the sales.\n\nHere is the chart of 68, 81, 94, 7, 75, 88, 1, 14.",
          },
        },
      ],
    },
  ],
);

describeKills({
  module: new URL("agent.ts", import.meta.url).href,
  rules,
  says: ["Draw a chart.", "10, 20, 30", "Compare the sales of 2024 and 2025.", "Draw 5 and 6."],
});
