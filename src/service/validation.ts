import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { forAudit } from "../audit/audit.js";
import { invalid, type Violation } from "../core/error.js";
import type { Limits } from "../core/limits.js";
import { expectMessage } from "../wire/expect-message.js";
import { fieldValue, isRequired, listIn } from "../wire/field-rules.js";
import type { ServiceInterceptor } from "./invoke.js";
import { type Rule, rulesFor } from "./rules.js";

/** Maximum number of violations in one error. */
const maxViolations = 100;

/** A violation, with the limit that it exceeds if it has a name. */
interface KnownViolation extends Violation {
  readonly limit?: keyof Limits;
}

/** Adds the violations of a message to the list; `path` ends in a dot unless it is empty. */
type Checker = (message: Message, path: string, violations: KnownViolation[]) => void;

/** Returns all violations of a request, by the descriptor of its type. */
type Validator = (desc: DescMessage, request: Message) => KnownViolation[];

/**
 * Creates the validator of the A2A protocol, with the short table of value rules in `rules.ts`. For a missing message
 * only the message is reported, not its fields.
 */
export function createValidator(limits: Limits): Validator {
  const rules = rulesFor(limits);
  return validatorOf(({ typeName }) => rules.get(typeName));
}

/** Refuses an invalid request, and names all of its violations at once (specification 3.3.2, 5.7). */
export function validate(limits: Limits): ServiceInterceptor {
  const violationsOf = createValidator(limits);
  return (next) => (invocation) => {
    const violations = violationsOf(invocation.method.input, invocation.request);
    if (violations.length === 0) return next(invocation);
    const limit = violations.find((violation) => violation.limit !== undefined)?.limit;
    const error = invalid(violations);
    throw limit === undefined ? error : forAudit(error, { event: "limit.hit", limit });
  };
}

/** Creates a validator from `field_behavior = REQUIRED` and the rules of types. Each type is compiled once. */
export function validatorOf(ruleOf: (desc: DescMessage) => Rule | undefined): Validator {
  const compiled = new Map<DescMessage, Checker>();
  const checkOf = (desc: DescMessage): Checker => {
    let check = compiled.get(desc);
    if (check === undefined) {
      // Registered before compilation, for types that contain themselves.
      let inner: Checker = () => {};
      compiled.set(desc, (message, path, violations) => inner(message, path, violations));
      inner = compile(desc, ruleOf(desc), checkOf);
      check = inner;
      compiled.set(desc, check);
    }
    return check;
  };
  return (desc, request) => {
    const violations: KnownViolation[] = [];
    checkOf(desc)(request, "", violations);
    return violations.slice(0, maxViolations);
  };
}

function compile(desc: DescMessage, rule: Rule | undefined, checkOf: (desc: DescMessage) => Checker): Checker {
  const checks = desc.fields.flatMap((field) => {
    const inner = innerCheck(field, checkOf);
    return [...(isRequired(field) ? [requiredCheck(field)] : []), ...(inner === undefined ? [] : [inner])];
  });
  if (rule !== undefined) {
    checks.push((message, path, violations) =>
      rule(message, (field, description, limit) => {
        if (violations.length >= maxViolations) return;
        violations.push({ field: fieldPath(path, field), description, ...(limit !== undefined && { limit }) });
      }),
    );
  }
  return (message, path, violations) => {
    for (const check of checks) check(message, path, violations);
  };
}

function fieldPath(path: string, field: string): string {
  return field === "" ? path.slice(0, -1) : path + field;
}

function requiredCheck(field: DescField): Checker {
  return (message, path, violations) => {
    const value = fieldValue(message, field);
    if (value === undefined || value === "" || (field.fieldKind === "enum" && value === 0)) {
      violations.push({ field: path + field.jsonName, description: "is required" });
    } else if (Array.isArray(value) && value.length === 0) {
      violations.push({ field: path + field.jsonName, description: "needs at least one element" });
    }
  };
}

/** Returns the check of nested messages of the contract. Struct and other well-known types need no check. */
function innerCheck(field: DescField, checkOf: (desc: DescMessage) => Checker): Checker | undefined {
  const desc = field.fieldKind === "message" || field.fieldKind === "list" ? field.message : undefined;
  if (desc === undefined || desc.typeName.startsWith("google.")) return undefined;
  const check = checkOf(desc);
  if (field.fieldKind === "message") {
    return (message, path, violations) => {
      const value = fieldValue(message, field);
      if (value !== undefined) check(expectMessage(desc, value), `${path}${field.jsonName}.`, violations);
    };
  }
  return (message, path, violations) => {
    const values = listIn(fieldValue(message, field));
    for (let index = 0; index < values.length && violations.length < maxViolations; index++) {
      check(expectMessage(desc, values[index]), `${path}${field.jsonName}[${index}].`, violations);
    }
  };
}
