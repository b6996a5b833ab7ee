import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Finding {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Returns what axe finds on a page as it is, by the rules of WCAG 2.2 AA and its best practices. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  // By the debugger, as the page's policy forbids scripts of others.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(source);
  // Nodes that pass or need a look are not described.
  const findings = await page.evaluate<readonly Finding[]>(
    `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"] }).then(({ violations }) => violations)`,
  );
  return findings.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n${failureSummary}`),
  );
}
