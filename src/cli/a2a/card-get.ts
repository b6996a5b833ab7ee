import { readCard } from "./agent.js";
import type { Run } from "./context.js";
import { usage } from "./errors.js";
import { cardText } from "./text.js";

/** `card get`: prints a card, with JSON as it was received. */
export const run: Run = async (context, [ref]) => {
  if (ref !== undefined && context.isFlag("agentCard"))
    throw usage("the card is named twice: as argument and by --agent-card");
  const { found, platform } = await readCard(context, ref);
  await platform.close();
  if (!context.out.mode.isJson) return context.out.text(cardText(found.card));
  context.out.json(JSON.parse(found.text ?? "{}"));
};
