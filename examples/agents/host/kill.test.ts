import { afterAll, beforeAll } from "vitest";
import { agent as currency } from "../currency/agent.js";
import { agent as expenses } from "../expenses/agent.js";
import { type Served, serve } from "../test-support/callers.js";
import { describeKills } from "../test-support/kill-loop.js";
import { rules } from "./rules.js";

let others: readonly Served[] = [];
beforeAll(async () => {
  others = await Promise.all([serve(currency), serve(expenses)]);
  const [{ url: currencyUrl } = { url: "" }, { url: expensesUrl } = { url: "" }] = others;
  process.env.HOST_TEST_AGENTS = JSON.stringify({ Currency: currencyUrl, Expenses: expensesUrl });
});
afterAll(async () => {
  delete process.env.HOST_TEST_AGENTS;
  await Promise.all(others.map((each) => each.close()));
});

describeKills({
  module: new URL("killed.ts", import.meta.url).href,
  rules,
  says: [
    "Reimburse my lunch for 20 EUR, I need it in USD first",
    "It was on 2025-05-02.",
    "yes",
    "Reimburse 5 USD for the bus of 2025-05-03",
    "no",
  ],
});
