import { A2AError, type Violation } from "../../core/error.js";
import { anything, aText, aWholeNumber, expects, type OptionChecks, optionFaults } from "../../core/options.js";
import type { FollowOptions, SendOnceOptions, StreamOptions } from "./call-options.js";

const any = anything();
const whole = aWholeNumber(0, Number.MAX_SAFE_INTEGER);
const positive = expects("a number above 0", (value) => typeof value === "number" && value > 0);
const timeoutMs = expects(
  "a number of milliseconds from 0, which means no limit",
  (value) => typeof value === "number" && value >= 0,
);
/** A header carries the key. */
const aKey = aText("1 to 256 characters of ASCII without spaces at the ends", (key) =>
  /^[!-~]([ -~]{0,254}[!-~])?$/.test(key),
);

const ofCalls = { signal: any, timeoutMs, headers: any, skill: any };

const ofSends = {
  ...ofCalls,
  acceptedOutputModes: any,
  historyLength: whole,
  metadata: any,
  pushNotification: any,
  idempotencyKey: aKey,
};

/** Options of `send`. */
export const sendChecks: OptionChecks<SendOnceOptions> = { ...ofSends, returnImmediately: any };
/** Options of `follow`. */
export const followChecks: OptionChecks<FollowOptions> = {
  ...ofCalls,
  stallMs: positive,
  afterGeneration: whole,
  maxTaskBytes: positive,
};
/** Options of `stream`. */
export const streamChecks: OptionChecks<StreamOptions> = { ...ofSends, ...followChecks };
/** Options of the protocol's methods, as in Connect. */
export const methodChecks: OptionChecks = {
  signal: any,
  timeoutMs,
  headers: any,
  onHeader: any,
  onTrailer: any,
  contextValues: any,
};

/** @throws A2AError INVALID_PARAMS that names every fault */
export function checkOptions(options: object = {}, checks: OptionChecks, place = ""): void {
  const violations: Violation[] = [];
  for (const name in options) {
    // Each option is checked alone, because a violation names its field, and read by the check, because that may throw.
    const option = {
      get [name]() {
        return options[name as keyof typeof options];
      },
    };
    for (const description of optionFaults(option, checks, place)) {
      violations.push({ field: place + name, description });
    }
  }
  if (violations.length === 0) return;
  const text = violations.map(({ description }) => description).join("; ");
  throw new A2AError("INVALID_PARAMS", `Invalid parameters: ${text}`, { violations });
}
