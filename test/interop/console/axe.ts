import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Returns axe's findings on the current page, by the rules of WCAG 2.2 AA and its best practices. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  // Evaluated by the debugger, because the page's policy forbids foreign scripts.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(source);
  // Passing and undecided nodes are left out.
  const findings = await page.evaluate<readonly Finding[]>(
    `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"] }).then(({ violations }) => violations)`,
  );
  return findings.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  );
}
