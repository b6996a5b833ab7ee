import { lazy, type ReactNode, Suspense, useState } from "react";
import { Code } from "../content/code.js";
import { ScrollBox } from "../content/scroll-box.js";
import { agentWords } from "../texts/agents.js";
import { durationText, numberText } from "../ui/format.js";
import { Badge, Button, Bytes, Skeleton, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import type { Run } from "./bindings-run.js";
import type { Callable } from "./interfaces.js";

const Diff = lazy(() => import("../content/diff-view.js"));

/** State of a message over one interface. */
export type Outcome =
  | { readonly is: "waiting" | "running" }
  | { readonly is: "done"; readonly run: Run }
  | { readonly is: "failed"; readonly why: string };

interface TableProps {
  readonly all: readonly Callable[];
  readonly outcomes: ReadonlyMap<string, Outcome>;
}

/** Returns the name of a way to call, such as "JSONRPC 1.0". */
const nameOf = ({ candidate: { binding, version } }: Callable): string => `${binding} ${version}`;

/** The interfaces with their figures, and the answer of one, compared with that of the first. */
export function BindingsTable({ all, outcomes }: TableProps): ReactNode {
  const [open, setOpen] = useState<string>();
  const runOf = (each: Callable | undefined): Run | undefined => {
    const outcome = each && outcomes.get(each.key);
    return outcome?.is === "done" ? outcome.run : undefined;
  };
  const first = all.find((each) => runOf(each) !== undefined);
  const reference = runOf(first);
  const shown = all.find(({ key }) => key === open);
  const { bindings: texts } = agentWords;
  const numbers = [texts.first, texts.total, texts.events, texts.sent, texts.received];
  return (
    <>
      <ScrollBox className={css.scrollable} label={agentWords.agent.bindings}>
        <table className={ui.table}>
          <thead>
            <tr>
              <th scope="col">{texts.interface}</th>
              {numbers.map((name) => (
                <th key={name} scope="col" className={css.number}>
                  {name}
                </th>
              ))}
              <th scope="col">{texts.answer}</th>
            </tr>
          </thead>
          <tbody>
            {all.map((each) => (
              <OutcomeRow
                key={each.key}
                of={each}
                outcome={outcomes.get(each.key) ?? { is: "waiting" }}
                reference={each === first ? undefined : reference}
                isOpen={each.key === open}
                onOpen={(isOpen) => setOpen(isOpen ? each.key : undefined)}
              />
            ))}
          </tbody>
        </table>
      </ScrollBox>
      {shown !== undefined && first !== undefined && (
        <Shown name={nameOf(shown)} run={runOf(shown)} other={nameOf(first)} reference={reference} />
      )}
    </>
  );
}

interface RowProps {
  readonly of: Callable;
  readonly outcome: Outcome;
  /** The run to compare with; undefined for that run itself. */
  readonly reference: Run | undefined;
  readonly isOpen: boolean;
  readonly onOpen: (isOpen: boolean) => void;
}

function OutcomeRow({ of, outcome, reference, isOpen, onOpen }: RowProps): ReactNode {
  const { bindings: texts } = agentWords;
  const run = outcome.is === "done" ? outcome.run : undefined;
  const isSame = reference === undefined || run?.answer === reference.answer;
  return (
    <tr>
      <th scope="row">{nameOf(of)}</th>
      <td className={css.number}>{run?.firstMs !== undefined && durationText(run.firstMs)}</td>
      <td className={css.number}>{run && durationText(run.totalMs)}</td>
      <td className={css.number}>{run && numberText(run.events)}</td>
      <td className={css.number}>{run && <Bytes size={run.sent} />}</td>
      <td className={css.number}>{run && <Bytes size={run.received} />}</td>
      <td>
        {outcome.is === "failed" && (
          <>
            <Badge tone="bad">{texts.failed}</Badge>
            <p className={`${css.fault} ${ui.small}`}>{outcome.why.slice(0, 400)}</p>
          </>
        )}
        {outcome.is === "running" && <Badge tone="busy">{texts.running}</Badge>}
        {outcome.is === "waiting" && <Badge>{texts.waiting}</Badge>}
        {run !== undefined && (
          <span className={ui.row}>
            {reference === undefined ? (
              <Badge>{texts.reference}</Badge>
            ) : (
              <Badge tone={isSame ? "good" : "wait"}>{isSame ? texts.same : texts.differs}</Badge>
            )}
            <Button kind="plain" aria-expanded={isOpen} onClick={() => onOpen(!isOpen)}>
              {isOpen ? texts.hide : isSame ? texts.showAnswer : texts.showDifference}
            </Button>
          </span>
        )}
      </td>
    </tr>
  );
}

interface ShownProps {
  readonly name: string;
  readonly run: Run | undefined;
  readonly other: string;
  readonly reference: Run | undefined;
}

function Shown({ name, run, other, reference }: ShownProps): ReactNode {
  if (run === undefined) return undefined;
  const isSame = reference === undefined || reference.answer === run.answer;
  const title = isSame ? name : agentWords.bindings.differences(other, name);
  return (
    <section className={css.section}>
      <h2>{title}</h2>
      {isSame ? (
        <Code code={run.answer} language="json" />
      ) : (
        <Suspense fallback={<Skeleton lines={4} />}>
          <Diff name={title} before={reference.answer} after={run.answer} />
        </Suspense>
      )}
    </section>
  );
}
