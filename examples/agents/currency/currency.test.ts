import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FirstJavaScriptClient } from "../../../test/version/v0.1/first-clients.js";
import { type Served, serve } from "../test-support/callers.js";
import { describeKills } from "../test-support/kill-loop.js";
import { describeTalks } from "../test-support/talks.js";
import { describeWireExamples } from "../test-support/wire-examples.js";
import { agent } from "./agent.js";
import { rules } from "./rules.js";

let served: Served;
beforeAll(async () => {
  served = await serve(agent);
});
afterAll(() => served.close());

const progress = ["Looking up the exchange rates...", "Processing the exchange rates.."];
const conversion = (text: string) => ({ artifacts: { conversion: text } });

describeTalks(
  () => served,
  [
    {
      title: "converts",
      exchanges: [
        {
          says: "How much is 100 USD in GBP?",
          ...conversion(
            "Based on the current exchange rate, 1 USD is equivalent to 0.77252 GBP. " +
              "Therefore, 100 USD would be approximately 77.252 GBP.",
          ),
          progress,
        },
      ],
    },
    {
      title: "asks for the currency, and remembers what was asked",
      exchanges: [
        {
          says: "How much is the exchange rate for 1 USD?",
          state: "input-required",
          text: "Which currency do you want to convert to? Also, do you want the latest exchange rate or a specific date?",
          progress: [],
        },
        { says: "CAD", ...conversion("The exchange rate for 1 USD to CAD is 1.4328."), progress },
        { says: "And in INR?", ...conversion("The exchange rate for 1 USD to INR is 85.49."), progress },
      ],
    },
    {
      title: "looks several rates up at once",
      exchanges: [
        {
          says: "Convert 50 USD to EUR and JPY",
          ...conversion(
            "Based on the current exchange rate, 1 USD is equivalent to 0.92447 EUR and 149.73 JPY. " +
              "Therefore, 50 USD would be approximately 46.224 EUR and 7486.5 JPY.",
          ),
          progress,
        },
      ],
    },
    {
      title: "asks again after an error of the tool",
      exchanges: [
        { says: "Convert 1 USD to XYZ", state: "input-required", text: "There is no currency XYZ.", progress },
        { says: "I mean EUR", ...conversion("The exchange rate for 1 USD to EUR is 0.92447.") },
      ],
    },
    {
      title: "declines other topics",
      exchanges: [
        { says: "Tell me a joke", ...conversion("I can only help with currency conversion and exchange rates.") },
      ],
    },
  ],
);

describe("the output modes of a request", () => {
  it.each([[["text"]], [["text/*", "image/png"]], [["*/*"]], [[]]])(
    "that include text are accepted: %j",
    async (modes) => {
      expect(await sendAccepting(modes)).toMatchObject({ status: { state: "completed" } });
    },
  );

  it("that exclude text are refused", async () => {
    await expect(sendAccepting(["image/png"])).rejects.toMatchObject({ code: -32005 });
  });

  function sendAccepting(acceptedOutputModes: readonly string[]): Promise<unknown> {
    const message = { role: "user", parts: [{ type: "text", text: "1 USD in EUR" }] };
    const params = { id: crypto.randomUUID(), acceptedOutputModes, message };
    return new FirstJavaScriptClient(served.url).call("tasks/send", params);
  }
});

describeWireExamples(new URL("README.md", import.meta.url), () => served);

describeKills({
  module: new URL("agent.ts", import.meta.url).href,
  rules,
  says: ["How much is 10 USD?", "EUR and GBP", "And in INR?"],
});
