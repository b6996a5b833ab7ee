import type { ReactNode } from "react";
import { operateWords } from "../../texts/operate.js";
import { Badge, type Tone } from "../../ui/parts.js";

const { outcomes } = operateWords.audit;

const tones: Readonly<Record<string, Tone>> = { success: "good", denied: "wait", failure: "bad" };

/** The outcome of an audited act, by word and colour. */
export function OutcomeBadge({ outcome }: { readonly outcome: string }): ReactNode {
  return (
    <Badge tone={tones[outcome]}>{outcome in outcomes ? outcomes[outcome as keyof typeof outcomes] : outcome}</Badge>
  );
}
