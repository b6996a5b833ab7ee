import { usage } from "./errors.js";
import type { Scope } from "./scope.js";
import { singleLine } from "./text.js";

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
