import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { cardViolations } from "../../../src/examine/card-validate.js";
import type { Line } from "../../../src/examine/check.js";
import { agentWords } from "../texts/agents.js";
import { ErrorNote } from "../ui/error.js";
import { Note, Skeleton, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import type { ReceivedCard } from "./card.js";
import { LineList } from "./check-groups.js";
import { cardLines } from "./checks-run.js";
import { Conformance } from "./conformance.js";
import { Signatures } from "./signatures.js";
import { Violations } from "./violations.js";

interface TabProps {
  readonly agent: string;
  readonly card: ReceivedCard;
}

/** Faults of an agent, each with its remedy. */
export default function ChecksTab({ agent, card }: TabProps): ReactNode {
  const { checks: texts } = agentWords;
  return (
    <div className={ui.stack}>
      <div className={css.columns}>
        <section className={`${ui.card} ${css.section}`}>
          <h2>{texts.card}</h2>
          <p className={ui.soft}>{texts.cardAbout}</p>
          <Members card={card} />
          <h3>{texts.served}</h3>
          <Served agent={agent} card={card} />
        </section>
        <Signatures agent={agent} card={card} />
      </div>
      <Conformance agent={agent} card={card} />
    </div>
  );
}

function Members({ card: { found } }: { readonly card: ReceivedCard }): ReactNode {
  const violations = useMemo(() => cardViolations(JSON.parse(found.text ?? "{}")), [found]);
  return violations.length === 0 ? <Note>{agentWords.checks.sound}</Note> : <Violations violations={violations} />;
}

function Served({ agent, card }: TabProps): ReactNode {
  const query = useQuery({
    queryKey: ["served-card", agent, card.ms],
    queryFn: async ({ signal }) => {
      const lines: Line[] = [];
      for await (const line of cardLines(agent, card, signal)) lines.push(line);
      return lines;
    },
    retry: false,
    staleTime: Infinity,
  });
  if (query.isPending) return <Skeleton lines={4} />;
  if (query.isError) return <ErrorNote error={query.error} onRetry={() => void query.refetch()} />;
  // The first line is about the members, which are shown above.
  return <LineList lines={query.data.slice(1)} onlyFaults={false} />;
}
