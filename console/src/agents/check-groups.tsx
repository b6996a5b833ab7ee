import type { ReactNode } from "react";
import type { Line } from "../../../src/examine/check.js";
import { agentWords } from "../texts/agents.js";
import { Badge, type Tone, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";
import { type Group, groupsOf, type Result, resultOf, summaryOf } from "./report.js";

const tones: Partial<Record<Result, Tone>> = { pass: "good", fail: "bad", advice: "wait" };

interface GroupsProps {
  readonly lines: readonly Line[];
  /** True to show faults only. */
  readonly onlyFaults: boolean;
}

/** The results of checks, by interface. Those with faults are open. */
export function CheckGroups({ lines, onlyFaults }: GroupsProps): ReactNode {
  return (
    <div className={css.items}>
      {groupsOf(lines).map((group) => (
        <GroupView key={group.key} group={group} onlyFaults={onlyFaults} />
      ))}
    </div>
  );
}

function GroupView({
  group: { binding, version, url, lines },
  onlyFaults,
}: {
  readonly group: Group;
  readonly onlyFaults: boolean;
}): ReactNode {
  const hasFault = lines.some((line) => resultOf(line) === "fail");
  return (
    <details className={`${ui.card} ${css.group}`} open={hasFault}>
      <summary>
        <strong>{binding === "" ? agentWords.checks.card : `${binding} ${version}`}</strong>{" "}
        <code className={ui.soft}>{url.slice(0, 200)}</code>
        <span className={`${ui.soft} ${ui.small} ${css.summary}`}>{summaryOf(lines)}</span>
      </summary>
      <LineList lines={lines} onlyFaults={onlyFaults} />
    </details>
  );
}

/** Checks with their results, and the remedy of those that failed. */
export function LineList({ lines, onlyFaults }: GroupsProps): ReactNode {
  const { checks: texts } = agentWords;
  const shown = lines.filter((line) => !onlyFaults || line.result === "fail");
  return (
    <ul className={css.lines}>
      {shown.map((line) => {
        const result = resultOf(line);
        return (
          <li key={line.check} className={css.line}>
            <Badge tone={tones[result]}>{texts[result]}</Badge>
            <div>
              <p>
                {line.requirement}{" "}
                <span className={`${ui.soft} ${ui.small}`} title={texts.section(line.section)}>
                  {line.check} · {line.section}
                </span>
              </p>
              {line.detail !== null && (
                <p className={result === "fail" ? css.fault : ui.soft}>{line.detail.slice(0, 800)}</p>
              )}
              {line.result === "fail" && (
                <p className={`${ui.soft} ${ui.small}`}>
                  {texts.remedy}: {line.mend}
                </p>
              )}
            </div>
          </li>
        );
      })}
    </ul>
  );
}
