import type { Reason } from "../../core/error.js";

/**
 * Errors with other codes than documented, or over some bindings without codes, in published libraries of 0.3 and 0.2,
 * recognised by their texts.
 */
export const texts: readonly (readonly [RegExp, Reason])[] = [
  [/push notifications? (?:is|are) not supported/i, "PUSH_NOTIFICATION_NOT_SUPPORTED"],
  [/\b(?:not cancell?able|cannot be cancell?ed)\b/i, "TASK_NOT_CANCELABLE"],
  [/\bin (?:a )?terminal state\b/i, "UNSUPPORTED_OPERATION"],
  [/^(?:\w+: )?method not found/i, "METHOD_NOT_FOUND"],
  [/authenticated (?:extended )?card/i, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"],
];
