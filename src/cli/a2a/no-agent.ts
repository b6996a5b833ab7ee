import { usage } from "./errors.js";
import type { Scope } from "./scope.js";
import { singleLine } from "./text.js";

/** A URL, a host with a port, this machine, or the file of a card. */
const reference = /^(?:[a-z][a-z\d+.-]*:\/\/\S+|[\w.-]+:\d+(?:\/\S*)?|localhost|\S+\.json)$/i;

/**
 * Rejects a command that names no agent, but seems to name one by the text that it would send.
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
