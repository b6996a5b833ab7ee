import { type AgentCard, AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { cardViolations } from "../../examine/card-validate.js";
import { readCard } from "./agent.js";
import { checkCapability } from "./capability.js";
import type { Context, Run } from "./context.js";
import { Failure, usage } from "./errors.js";
import { jsonOf } from "./output.js";
import { cardText, field, fields } from "./text.js";

/** `card get`: prints a card, with JSON as it was received. */
export const run: Run = async (context, [ref]) => {
  if (ref !== undefined && context.isFlag("agentCard"))
    throw usage("the card is named twice: as argument and by --agent-card");
  const isExtended = context.own("extended").length > 0;
  if (isExtended && ref !== undefined) throw usage("--extended: name the agent by --agent-card");
  const { card, json } = isExtended ? await extendedCard(context) : await publicCard(context, ref);
  const { out } = context;
  if (context.own("validate").length > 0) checkCard(context, json);
  else out.result(json, cardText(card));
};

interface ShownCard {
  readonly card: AgentCard;
  readonly json: unknown;
}

async function publicCard(context: Context, ref: string | undefined): Promise<ShownCard> {
  const { found, platform } = await readCard(context, ref);
  await platform.close();
  return { card: found.card, json: JSON.parse(found.text ?? "{}") };
}

/** Reads the card for authenticated callers (specification 3.1.11). */
async function extendedCard(context: Context): Promise<ShownCard> {
  const agent = await context.agent();
  checkCapability(agent, "extendedAgentCard");
  const card = await agent.client.getExtendedAgentCard({}, { signal: context.signal });
  return { card, json: jsonOf(AgentCardSchema, card) };
}

/** Reports every violation of a card. @throws Failure if it has one */
function checkCard({ out }: Context, json: unknown): void {
  const violations = cardViolations(json);
  if (violations.length === 0) return out.result(json, field("Valid", "yes"));
  const lines = violations.map(({ path, description }) => `${path} ${description}`);
  if (!out.mode.isJson) out.text(fields({ Violation: lines }));
  const shown = out.mode.isJson ? `: ${lines.join("; ")}` : "";
  const counted = lines.length === 1 ? "1 violation" : `${lines.length} violations`;
  throw new Failure("A2ACLI_ERR_CARD_INVALID", `The card has ${counted}${shown}.`, {
    hint: "the provider of the agent has to mend its card",
  });
}
