import { useNavigate, useSearch } from "@tanstack/react-router";
import { Send } from "lucide-react";
import { type ReactNode, useMemo, useState } from "react";
import { agentWords } from "../texts/agents.js";
import { sentenceOf } from "../ui/error.js";
import { Empty, Note, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import { BindingsTable, type Outcome } from "./bindings-table.js";
import type { ReceivedCard } from "./card.js";
import { type Callable, interfacesOf } from "./interfaces.js";
import { MessageForm } from "./message-form.js";
import { useRun } from "./use-run.js";

interface TabProps {
  readonly agent: string;
  readonly card: ReceivedCard;
}

/** Sends one message over all interfaces, and compares what comes back. */
export default function BindingsTab({ agent, card: { found } }: TabProps): ReactNode {
  const all = useMemo(
    () => interfacesOf(found).filter((each): each is Callable => each.candidate !== undefined),
    [found],
  );
  const { text = "" } = useSearch({ from: "/agent" });
  const navigate = useNavigate();
  const example = found.card.skills[0]?.examples[0]?.slice(0, 500) ?? "hello";
  const { outcomes, isRunning, start, stop } = useRuns(agent, found, all);
  const { bindings: texts } = agentWords;
  if (all.length === 0) return <Empty title={texts.none} />;
  return (
    <div className={css.section}>
      <p className={ui.soft}>{texts.about}</p>
      <MessageForm
        initial={text || example}
        isRunning={isRunning}
        texts={texts}
        action={
          <>
            <Send size={15} aria-hidden="true" />
            {texts.send}
          </>
        }
        onSend={(message) => {
          void navigate({ to: ".", search: (before) => ({ ...before, text: message }), replace: true });
          void start(message);
        }}
        onStop={stop}
      />
      {outcomes.size > 0 && (
        <>
          <Verdict outcomes={[...outcomes.values()]} isRunning={isRunning} />
          <BindingsTable all={all} outcomes={outcomes} />
        </>
      )}
    </div>
  );
}

/** Runs a message over the interfaces, one after the other, so that they do not slow each other down. */
function useRuns(agent: string, found: ReceivedCard["found"], all: readonly Callable[]) {
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const { isRunning, run, stop } = useRun();
  const send = async (text: string, signal: AbortSignal): Promise<void> => {
    setOutcomes(new Map(all.map(({ key }) => [key, { is: "waiting" }])));
    const note = (key: string, outcome: Outcome): void => setOutcomes((before) => new Map(before).set(key, outcome));
    const { runOver } = await import("./bindings-run.js");
    for (const { key, candidate } of all) {
      if (signal.aborted) break;
      note(key, { is: "running" });
      try {
        note(key, { is: "done", run: await runOver(agent, found.card, { candidate, text, signal }) });
      } catch (error) {
        note(key, { is: "failed", why: sentenceOf(error) });
      }
    }
  };
  return { outcomes, isRunning, start: (text: string) => run((signal) => send(text, signal)), stop };
}

function Verdict({
  outcomes,
  isRunning,
}: {
  readonly outcomes: readonly Outcome[];
  readonly isRunning: boolean;
}): ReactNode {
  const { bindings: texts } = agentWords;
  const answers = new Set(outcomes.flatMap((each) => (each.is === "done" ? [each.run.answer] : [])));
  const isWhole = outcomes.every(({ is }) => is === "done");
  if (isRunning || answers.size === 0) return undefined;
  return answers.size === 1 && isWhole ? (
    <Note>{texts.allSame}</Note>
  ) : (
    <Note tone="wait">{answers.size === 1 ? texts.someFailed : texts.notSame}</Note>
  );
}
