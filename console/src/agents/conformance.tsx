import { Check, CircleStop, Copy, ListChecks } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Line } from "../../../src/examine/line.js";
import { withoutSecretTexts } from "../exchanges/hide.js";
import { agentWords } from "../texts/agents.js";
import { ErrorNote } from "../ui/error.js";
import { Button, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import type { ReceivedCard } from "./card.js";
import { CheckGroups } from "./check-groups.js";
import { cardLines, interfaceLines } from "./checks-run.js";
import { logins, secretsOf } from "./logins.js";
import { reportText, summaryOf } from "./report.js";

interface ConformanceProps {
  readonly agent: string;
  readonly card: ReceivedCard;
}

/** The checks of all interfaces, by one click, with a report to copy. */
export function Conformance({ agent, card }: ConformanceProps): ReactNode {
  const [text, setText] = useState(card.found.card.skills[0]?.examples[0]?.slice(0, 500) ?? "hello");
  const [onlyFaults, setOnlyFaults] = useState(false);
  const { lines, isRunning, error, start, stop } = useChecks(agent, card);
  const { checks: texts } = agentWords;
  return (
    <section className={`${ui.card} ${css.section}`}>
      <h2>{texts.conformance}</h2>
      <p className={ui.soft}>{texts.conformanceAbout}</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void start(text);
        }}
      >
        <label className={ui.field}>
          <span>{texts.message}</span>
          <div className={css.addRow}>
            <input className={ui.input} value={text} onChange={({ target }) => setText(target.value)} />
            {isRunning ? (
              <Button onClick={stop}>
                <CircleStop size={15} aria-hidden="true" />
                {texts.stop}
              </Button>
            ) : (
              <Button kind="main" type="submit" disabled={text.trim() === ""}>
                <ListChecks size={15} aria-hidden="true" />
                {texts.run}
              </Button>
            )}
          </div>
        </label>
      </form>
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
              <CopyReport text={() => reportText(texts.reportTitle(card.found.card.name, agent), lines)} />
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
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>();
  const abort = useRef<AbortController>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const start = async (text: string): Promise<void> => {
    abort.current?.abort();
    const controller = new AbortController();
    abort.current = controller;
    const { signal } = controller;
    setLines([]);
    setError(undefined);
    setRunning(true);
    const secrets = secretsOf(logins.get(agent));
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
    if (abort.current === controller) setRunning(false);
  };
  return { lines, isRunning, error, start, stop: () => abort.current?.abort() };
}

function CopyReport({ text }: { readonly text: () => string }): ReactNode {
  const [isCopied, setCopied] = useState(false);
  const Icon = isCopied ? Check : Copy;
  return (
    <Button
      onClick={() => {
        void navigator.clipboard.writeText(text()).then(() => {
          setCopied(true);
          setTimeout(() => setCopied(false), 1_500);
        });
      }}
    >
      <Icon size={14} aria-hidden="true" />
      {agentWords.checks.copy}
      <span className={ui.hidden} role="status">
        {isCopied ? agentWords.checks.copied : ""}
      </span>
    </Button>
  );
}
