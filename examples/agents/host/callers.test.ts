import { afterAll, beforeAll } from "vitest";
import { agent as currency } from "../currency/agent.js";
import { agent as expenses } from "../expenses/agent.js";
import { type Served, serve } from "../test-support/callers.js";
import { describeTalks } from "../test-support/talks.js";
import { agent } from "./agent.js";

let host: Served;
let others: readonly Served[] = [];
beforeAll(async () => {
  others = await Promise.all([serve(currency), serve(expenses)]);
  const [{ url: money } = { url: "" }, { url: forms } = { url: "" }] = others;
  host = await serve(agent, { remoteAgents: { Currency: money, Expenses: forms } });
});
afterAll(() => Promise.all([host, ...others].map((each) => each.close())));

const conversion =
  "Based on the current exchange rate, 1 EUR is equivalent to 1.0817 USD. " +
  "Therefore, 20 EUR would be approximately 21.634 USD.";

describeTalks(
  () => host,
  [
    {
      title: "has one request done by two agents, with a form and an approval",
      exchanges: [
        {
          says: "Reimburse my lunch for 20 EUR, I need it in USD first",
          state: "input-required",
          text: "Please fill in the details of the expense.",
          progress: [
            "Asking Currency…",
            "Looking up the exchange rates...",
            "Processing the exchange rates..",
            "Asking Expenses…",
          ],
        },
        {
          says: "It was on 2025-05-02.",
          state: "input-required",
          text: "Approve the reimbursement of 21.63 USD for lunch?",
        },
        {
          says: "yes",
          progress: ["Processing the reimbursement request...", "21.63 USD for lunch: it will be paid to you."],
        },
      ],
    },
    {
      title: "brings a question of another agent to the user, and the answer back",
      exchanges: [
        {
          says: "How much is 20 EUR?",
          state: "input-required",
          text: "Which currency do you want to convert to? Also, do you want the latest exchange rate or a specific date?",
        },
        { says: "USD", artifacts: { conversion, answer: `Currency: ${conversion}` } },
      ],
    },
  ],
);
