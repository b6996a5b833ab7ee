import { afterAll, beforeAll } from "vitest";
import { type Served, serve } from "../test-support/callers.js";
import { describeTalks } from "../test-support/talks.js";
import { guideOf } from "./agent.js";

let served: Served;
beforeAll(async () => {
  const agents = { "Currency Agent": "http://localhost:10000" };
  served = await serve(guideOf({ console: "http://localhost:10010/console/", agents }));
});
afterAll(() => served.close());

const first =
  "**1. Ask, and watch the answer arrive**\n\n" +
  "Send the message. The state changes while the agent works, and the answer arrives in pieces.\n\n" +
  "Say to **Currency Agent**: How much is 100 USD in GBP?\n\n" +
  "[Open it](http://localhost:10010/console/talk?agent=http%3A%2F%2Flocalhost%3A10000&text=How+much+is+100+USD+in+GBP%3F)\n\n" +
  "Say **next** to go on.";
const fifth =
  "**5. Look behind a task**\n\n" +
  "Open the task of the host: its timeline, its log, the tasks of the other agents. Replay it from the start.\n\n" +
  "[Open it](http://localhost:10010/console/operate/tasks)\n\n" +
  "Say **next** to go on.";

describeTalks(
  () => served,
  [
    {
      title: "shows one place after the other, and any by its number",
      exchanges: [
        { says: "start", text: first },
        { says: "5", text: fifth },
        { says: "start", text: first },
      ],
    },
  ],
);
