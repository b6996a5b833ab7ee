import { defaultClientLimits } from "../../../client/limits.js";
import { type CardAndPlatform, readCard, type Tap } from "../agent.js";
import type { Context } from "../context.js";
import { usage } from "../errors.js";

/** Reads the card of the agent that a command names once, with the interfaces that clients look at. @throws Failure */
export async function cardFound(context: Context, command: string, ref?: string, tap?: Tap): Promise<CardAndPlatform> {
  if (ref !== undefined && context.isFlag("agentCard"))
    throw usage("the agent is named twice: as argument and by --agent-card");
  if (context.settings.endpoint !== undefined) throw usage(`${command} needs a card: name it by --agent-card`);
  const { found, platform } = await readCard(context, ref, tap);
  const { maxInterfaces } = defaultClientLimits;
  const { length } = found.card.supportedInterfaces;
  if (length <= maxInterfaces) return { found, platform };
  context.out.warn(`the card has ${length} interfaces; the first ${maxInterfaces} are called`);
  const supportedInterfaces = found.card.supportedInterfaces.slice(0, maxInterfaces);
  return { found: { ...found, card: { ...found.card, supportedInterfaces } }, platform };
}
