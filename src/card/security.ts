import { isMessage } from "@bufbuild/protobuf";
import type { AgentCardInput } from "../agent/card-input.js";
import { type AgentSecurity, securityCard } from "../auth/security.js";

/** A card with what an agent's declaration says of who may call (specification 4.4.1, 4.4.5, 4.5). */
export function withSecurity(card: AgentCardInput, security: AgentSecurity | undefined): AgentCardInput {
  if (security === undefined) return card;
  const { skills: required, ...declared } = securityCard(security);
  const skills = (card.skills ?? []).map((skill) => {
    const securityRequirements = skill.id === undefined ? undefined : required[skill.id];
    return securityRequirements === undefined ? skill : { ...plain(skill), securityRequirements };
  });
  return { ...plain(card), ...declared, skills } as AgentCardInput;
}

/** A message as the fields that it has; others are as they are. */
function plain<T extends object>(input: T): Omit<T, "$typeName" | "$unknown"> {
  if (!isMessage(input)) return input;
  const { $typeName: _name, $unknown: _unknown, ...fields } = input;
  return fields as unknown as Omit<T, "$typeName" | "$unknown">;
}
