import type { Check, Finding } from "./check.js";

export interface Line {
  /** Empty for the card. */
  readonly binding: string;
  /** Version of the interface; empty for the card. */
  readonly version: string;
  readonly url: string;
  readonly check: string;
  readonly section: string;
  readonly requirement: string;
  readonly mend: string;
  readonly isAdvice: boolean;
  readonly result: "pass" | "fail" | "skipped";
  readonly detail: string | null;
}

/** Subject of a finding: an interface, or the card. */
export type Place = Pick<Line, "binding" | "version" | "url">;

/** A check without its code. */
export type Rule = Pick<Check, "name" | "section" | "requirement" | "mend" | "isAdvice">;

export function lineOf({ binding, version, url }: Place, rule: Rule, finding: Finding): Line {
  const { name, section, requirement, mend, isAdvice = false } = rule;
  return {
    binding,
    version,
    url,
    check: name,
    section,
    requirement,
    mend,
    isAdvice,
    result: finding === undefined ? "pass" : "fault" in finding ? "fail" : "skipped",
    detail: finding === undefined ? null : "fault" in finding ? finding.fault : finding.skipped,
  };
}
