import { agentCodes } from "../../examine/agent-codes.js";
import type { Agent } from "./agent.js";
import { Failure } from "./errors.js";

/** Capabilities of a card that commands need, with the error that an agent without them gives, and their name. */
const needed = {
  pushNotifications: ["PUSH_NOTIFICATION_NOT_SUPPORTED", "push notifications"],
  extendedAgentCard: ["UNSUPPORTED_OPERATION", "an extended card"],
} as const;

/** Rejects a command that the agent's card does not provide for, before it is called. An unknown card passes. @throws Failure */
export function checkCapability({ card }: Pick<Agent, "card">, capability: keyof typeof needed): void {
  if (card === undefined || card.capabilities?.[capability] === true) return;
  const [reason, name] = needed[capability];
  const [code = "UnsupportedOperationError", a2aCode = null] = agentCodes[reason] ?? [];
  throw new Failure(code, `The agent's card does not declare ${name}.`, {
    a2aCode,
    hint: "card get shows what the agent supports",
  });
}
