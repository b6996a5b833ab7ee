import { agentCodes } from "../../examine/agent-codes.js";
import type { Agent } from "./agent.js";
import { Failure, usage } from "./errors.js";
import type { Scope } from "./scope.js";
import { singleLine } from "./text.js";

/** Capabilities of a card that commands need, with the error of an agent without them, and their names. */
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

/** Matches a URL, a host with a port, localhost, or a path that ends in .json. */
const reference = /^(?:[a-z][a-z\d+.-]*:\/\/\S+|[\w.-]+:\d+(?:\/\S*)?|localhost|\S+\.json)$/i;

/**
 * Rejects a command without an agent whose text looks like the address of one.
 * @throws Failure
 */
export function checkNamesAgent(
  { settings }: Pick<Scope, "settings">,
  command: string,
  text: string | undefined,
): void {
  if (settings.agentCard !== undefined || settings.endpoint !== undefined) return;
  if (text === undefined || !reference.test(text)) return;
  const shown = singleLine(text);
  throw usage(`no agent is named: ${shown} is the text to send`, `name the agent by -a: ${command} -a ${shown}`);
}
