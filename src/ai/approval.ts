import type { JsonValue } from "@bufbuild/protobuf";
import type { StandardSchema } from "../agent/schema.js";
import { isRecord } from "../core/members.js";

/** The user's answer to the question whether a tool may be called. */
export interface Approval {
  readonly allowed: boolean;
  /** A denial in the user's words, for the model. */
  readonly reason?: string;
}

/** The instruction at the end of the question, and the violation of an unclear answer. */
export const YES_OR_NO = "Answer yes or no.";

const json = {
  type: "object",
  properties: { allowed: { type: "boolean", title: "Allowed" } },
  required: ["allowed"],
};

export const approvalForm: StandardSchema<unknown, Approval> = {
  "~standard": {
    version: 1,
    vendor: "parley",
    validate: (value) => (isApproval(value) ? { value } : { issues: [{ message: YES_OR_NO }] }),
    jsonSchema: { input: () => json },
  },
};

function isApproval(value: unknown): value is Approval {
  if (!isRecord(value) || typeof value.allowed !== "boolean") return false;
  return value.reason === undefined || typeof value.reason === "string";
}

/** An approval consists of these words only, so "yes, but" and "ok if" do not approve. docs/models.md lists them. */
const YES =
  /^(?:yes|y|yeah|yep|sure|ok|okay|allow|allowed|approve|approved|do it|please do|go ahead)(?: (?:yes|sure|ok|okay|please|do|it|that|this|so|go|ahead|thanks|thank|you))*$/;

/** A denial begins with one of these. */
const NO =
  /^(?:no|n|nope|not now|not yet|don't|do not|never|stop|cancel|deny|denied|reject|rejected)(?= |$)(?! (?:problem|worries|objections?))/;

/** Reads a text as an approval or a denial. Returns any other text unchanged, which does not answer. */
export function readApproval(text: string): JsonValue {
  const words = text
    .toLowerCase()
    .replaceAll("’", "'")
    .replace(/[\s.,;:!]+/g, " ")
    .trim();
  if (YES.test(words)) return { allowed: true };
  if (!NO.test(words) || /\?|\b(?:yes|go ahead)\b/.test(words)) return text;
  return words.includes(" ") ? { allowed: false, reason: text } : { allowed: false };
}
