import { type ReactNode, useState } from "react";
import { type CardViolation, validRule } from "../../../src/examine/card-validate.js";
import { ScrollBox } from "../content/scroll-box.js";
import { agentWords } from "../texts/agents.js";
import { Button, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";

/** Faults that are listed at first, and with each click as many more. */
const LISTED = 50;

/** The faults of a card, each with its place in it. */
export function Violations({ violations }: { readonly violations: readonly CardViolation[] }): ReactNode {
  const [limit, setLimit] = useState(LISTED);
  const { checks, card } = agentWords;
  return (
    <>
      <ScrollBox className={css.scrollable} label={checks.card}>
        <table className={ui.table}>
          <thead>
            <tr>
              <th scope="col">{checks.place}</th>
              <th scope="col">{checks.fault}</th>
            </tr>
          </thead>
          <tbody>
            {violations.slice(0, limit).map(({ path, description }, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a place may have several faults.
              <tr key={at}>
                <td className={ui.mono}>{path.slice(0, 300) || checks.whole}</td>
                <td>{description.slice(0, 600)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
      <p className={ui.soft}>
        {checks.remedy}: {validRule.mend}.
      </p>
      {violations.length > limit && (
        <Button onClick={() => setLimit(limit + LISTED)}>{card.more(violations.length - limit)}</Button>
      )}
    </>
  );
}
