import type { Line } from "../../../src/examine/check.js";
import { agentWords } from "../texts/agents.js";

/** Results of a check as they are shown. Advice does not count as a fault. */
export type Result = "pass" | "fail" | "advice" | "skipped";

export const resultOf = ({ result, isAdvice }: Line): Result => (result === "fail" && isAdvice ? "advice" : result);

/** Lines of one interface, or of the card. */
export interface Group {
  readonly key: string;
  readonly binding: string;
  readonly version: string;
  readonly url: string;
  readonly lines: readonly Line[];
}

/** Puts the lines of one place together, in their order. */
export function groupsOf(lines: readonly Line[]): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const line of lines) {
    const { binding, version, url } = line;
    const key = `${binding} ${version} ${url}`;
    groups.set(key, { key, binding, version, url, lines: [...(groups.get(key)?.lines ?? []), line] });
  }
  return [...groups.values()];
}

/** Returns a sentence with the numbers of results. */
export function summaryOf(lines: readonly Line[]): string {
  const count = (result: Result): number => lines.filter((line) => resultOf(line) === result).length;
  return agentWords.checks.summary(count("pass"), count("fail"), count("advice"), count("skipped"));
}

/** Returns the whole report as a text in Markdown. */
export function reportText(title: string, lines: readonly Line[]): string {
  const { checks: texts } = agentWords;
  const groups = groupsOf(lines).map(({ binding, version, url, lines: all }) => {
    const head = `## ${binding === "" ? texts.card : `${binding} ${version}`} (${url})`;
    const items = all.map((line) => {
      const { check, section, requirement, detail, mend } = line;
      const result = resultOf(line);
      const isWrong = result === "fail" || result === "advice";
      const more = [detail, isWrong ? `${texts.remedy}: ${mend}` : null].filter((each) => each !== null);
      return `- ${texts[result]}: ${check} (${section}), ${requirement}${more.map((each) => `\n  ${each}`).join("")}`;
    });
    return [head, "", ...items].join("\n");
  });
  return [`# ${title}`, "", summaryOf(lines), "", groups.join("\n\n"), ""].join("\n");
}
