import { isPromiseLike } from "../core/async.js";
import type { Call } from "../core/call.js";
import { aFunction, anObject, anObjectOf, aText, type OptionChecks, optionFaults } from "../core/options.js";
import type { Challenge, Finding, SecurityScheme } from "./scheme.js";
import type { SecuritySchemeInput } from "./scheme-card.js";

/** Options of `customScheme`. */
export interface CustomSchemeOptions {
  /** The scheme on the card, as in the specification's JSON: `{ httpAuthSecurityScheme: { scheme: "Hawk" } }`. */
  readonly card: SecuritySchemeInput;
  /**
   * The challenge in `WWW-Authenticate`. Default: the scheme's name in the card of HTTP authentication, otherwise
   * `Custom`.
   */
  readonly challenge?: Challenge;
  /**
   * The caller; undefined without credentials of this scheme; a `Refusal` for wrong ones, which also counts as a failed
   * attempt. Compare secrets in constant time.
   */
  readonly authenticate: (call: Call) => Finding | Promise<Finding>;
}

/** Security scheme that one function of yours checks. */
export function customScheme(options: CustomSchemeOptions): SecurityScheme {
  const { card, challenge, authenticate } = options;
  return {
    card,
    challenge: challenge ?? { scheme: card?.httpAuthSecurityScheme?.scheme ?? "Custom" },
    faults: optionFaults(options, checks, "", ["card", "authenticate"]),
    open: () => ({ check: (call) => promised(authenticate(call)) }),
  };
}

const challengeChecks: OptionChecks<Challenge> = { scheme: aText(), parameters: anObject() };

const checks: OptionChecks<CustomSchemeOptions> = {
  card: anObject(),
  challenge: anObjectOf(challengeChecks, ["scheme"], "an object"),
  authenticate: aFunction(),
};

/** Converts a promise of another library to a native one. */
function promised<T>(found: T | Promise<T>): T | Promise<T> {
  return isPromiseLike(found) ? Promise.resolve(found) : found;
}
