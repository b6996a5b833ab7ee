import { invalid, type Violation } from "../core/error.js";
import { unknownNames } from "../core/unknown-names.js";
import type { FollowOptions, SendOnceOptions, StreamOptions } from "./call-options.js";

/** The values that an option may have. Every option may be left out. */
type Rule = "any" | "time" | "positive" | "whole";

const ofCalls = { signal: "any", timeoutMs: "time", headers: "any", skill: "any" } as const;

const ofSends = {
  ...ofCalls,
  acceptedOutputModes: "any",
  historyLength: "whole",
  metadata: "any",
  pushNotification: "any",
  idempotencyKey: "any",
} as const;

const ofFollows = { ...ofCalls, stallMs: "positive", afterGeneration: "whole", maxTaskBytes: "positive" } as const;

/** Options of `send`. */
export const sendRules: Readonly<Record<keyof SendOnceOptions, Rule>> = { ...ofSends, returnImmediately: "any" };
/** Options of `follow`. */
export const followRules: Readonly<Record<keyof FollowOptions, Rule>> = ofFollows;
/** Options of `stream`. */
export const streamRules: Readonly<Record<keyof StreamOptions, Rule>> = { ...ofSends, ...ofFollows };
/** Options of the methods of the protocol: those of Connect. */
export const methodRules: Readonly<Record<string, Rule>> = {
  signal: "any",
  timeoutMs: "time",
  headers: "any",
  onHeader: "any",
  onTrailer: "any",
  contextValues: "any",
};

/** @throws A2AError with reason INVALID_PARAMS for an option that is not known, and for a number that cannot be meant */
export function checkCall(options: object | undefined, rules: Readonly<Record<string, Rule>>): void {
  if (options === undefined) return;
  let faults: Violation[] | undefined;
  for (const name in options) {
    const description = faultOf(name, (options as Readonly<Record<string, unknown>>)[name], rules);
    if (description !== undefined) faults = [...(faults ?? []), description];
  }
  if (faults !== undefined) throw invalid(faults);
}

function faultOf(name: string, value: unknown, rules: Readonly<Record<string, Rule>>): Violation | undefined {
  if (!Object.hasOwn(rules, name)) {
    const [description = ""] = unknownNames("the option ", [name], Object.keys(rules));
    return { field: "", description };
  }
  const rule = rules[name];
  if (rule === "any" || value === undefined) return undefined;
  const isNumber = typeof value === "number" && value >= 0;
  if (rule === "time" && isNumber) return undefined;
  if (rule === "positive" && isNumber && value > 0) return undefined;
  if (rule === "whole" && isNumber && Number.isSafeInteger(value)) return undefined;
  return { field: name, description: `is ${shown(value)}, not ${expected[rule as Exclude<Rule, "any">]}` };
}

const shown = (value: unknown): string => (typeof value === "number" ? `${value}` : `of type ${typeof value}`);

const expected = {
  time: "a number of milliseconds from 0, which is no limit",
  positive: "a number above 0",
  whole: "a whole number from 0",
} as const;
