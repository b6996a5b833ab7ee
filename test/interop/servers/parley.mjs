/** The example agent with a required key. */
import agent from "../../../dist/examples/probe/agent.js";
import { apiKeyScheme } from "../../../dist/src/auth/index.js";

const keys = [{ owner: "tester", key: "key-of-the-tests-0123456789abcdef" }];

export default {
  ...agent,
  extendedCard: { ...agent.card, name: "Foreign, and more" },
  security: { schemes: { key: apiKeyScheme({ in: "header", name: "X-Api-Key", keys }) }, require: ["key"] },
};
