import type { ReactNode } from "react";
import type { Attempt } from "../../../../gen/parley/admin/v1/admin_pb.js";
import { operateWords } from "../../texts/operate.js";
import { durationText } from "../../ui/format.js";
import { Badge, css, Time } from "../../ui/parts.js";
import { dateOf } from "../tasks/task-row.js";
import page from "./deliveries.module.css";

const { deliveries: texts } = operateWords;

/** The latest attempts at a delivery. */
export function AttemptsTable({ attempts }: { readonly attempts: readonly Attempt[] }): ReactNode {
  if (attempts.length === 0) return <p className={css.soft}>{texts.noAttempts}</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it sideways.
    <section className={css.scroll} tabIndex={0} aria-label={texts.attempts}>
      <table className={css.table}>
        <thead>
          <tr>
            {[texts.time, texts.result, texts.answer, texts.took, texts.event, texts.body].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {attempts.map((attempt, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: attempts have no other identity.
            <AttemptRow key={index} attempt={attempt} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function AttemptRow({ attempt }: { readonly attempt: Attempt }): ReactNode {
  const { time, durationMs, generation, status, answer, failure, byOperator } = attempt;
  return (
    <tr>
      <td className={page.nowrap}>
        <Time at={dateOf(time)} />
      </td>
      <td>
        {failure === "" ? (
          <Badge tone="good">{texts.delivered}</Badge>
        ) : (
          <span className={page.failure}>{failure}</span>
        )}
        {byOperator && <div className={`${css.soft} ${css.small}`}>{texts.byOperator}</div>}
      </td>
      <td className={page.nowrap}>{status === 0 ? texts.noAnswer : status}</td>
      <td className={page.nowrap}>{durationText(durationMs)}</td>
      <td>{generation}</td>
      <td className={css.mono}>{answer === "" ? "–" : answer}</td>
    </tr>
  );
}
