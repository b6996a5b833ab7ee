import { ListChecks } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Line } from "../../../src/examine/check.js";
import { withoutSecretTexts } from "../exchanges/hide.js";
import { agentWords } from "../texts/agents.js";
import { CopyButton } from "../ui/copy-button.js";
import { ErrorNote } from "../ui/error.js";
import { css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import type { ReceivedCard } from "./card.js";
import { CheckGroups } from "./check-groups.js";
import { cardLines, interfaceLines } from "./checks-run.js";
import { secretsAt } from "./logins.js";
import { MessageForm } from "./message-form.js";
import { reportText, summaryOf } from "./report.js";
import { useRun } from "./use-run.js";

interface ConformanceProps {
  readonly agent: string;
  readonly card: ReceivedCard;
}

/** The checks of all interfaces, by one click, with a report to copy. */
export function Conformance({ agent, card }: ConformanceProps): ReactNode {
  const [onlyFaults, setOnlyFaults] = useState(false);
  const { lines, isRunning, error, start, stop } = useChecks(agent, card);
  const { checks: texts } = agentWords;
  return (
    <section className={`${ui.card} ${css.section}`}>
      <h2>{texts.conformance}</h2>
      <p className={ui.soft}>{texts.conformanceAbout}</p>
      <MessageForm
        initial={card.found.card.skills[0]?.examples[0]?.slice(0, 500) ?? "hello"}
        isRunning={isRunning}
        texts={texts}
        action={
          <>
            <ListChecks size={15} aria-hidden="true" />
            {texts.run}
          </>
        }
        onSend={(text) => void start(text)}
        onStop={stop}
      />
      {error !== undefined && <ErrorNote error={error} />}
      {lines.length > 0 && (
        <>
          <div className={ui.row}>
            <span role="status">{isRunning ? texts.running : summaryOf(lines)}</span>
            <label className={css.check}>
              <input type="checkbox" checked={onlyFaults} onChange={({ target }) => setOnlyFaults(target.checked)} />
              {texts.onlyFaults}
            </label>
            {!isRunning && (
              <CopyButton text={() => reportText(texts.reportTitle(card.found.card.name, agent), lines)}>
                {texts.copy}
              </CopyButton>
            )}
          </div>
          <CheckGroups lines={lines} onlyFaults={onlyFaults} />
        </>
      )}
    </section>
  );
}

/** Runs the checks, and collects their lines without the secrets that an agent may repeat. */
function useChecks(agent: string, card: ReceivedCard) {
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [error, setError] = useState<unknown>();
  const { isRunning, run, stop } = useRun();
  const check = async (text: string, signal: AbortSignal): Promise<void> => {
    setLines([]);
    setError(undefined);
    const secrets = secretsAt(agent);
    const add = (line: Line): void => {
      const detail = line.detail === null ? null : withoutSecretTexts(line.detail, secrets);
      setLines((before) => [...before, { ...line, detail }]);
    };
    try {
      for await (const line of cardLines(agent, card, signal)) add(line);
      for await (const line of interfaceLines(agent, card, { text, signal })) add(line);
    } catch (thrown) {
      if (!signal.aborted) setError(thrown);
    }
  };
  return { lines, isRunning, error, start: (text: string) => run((signal) => check(text, signal)), stop };
}
