import { forAudit } from "../../audit/audit.js";
import { invalid } from "../../core/error.js";
import type { Limits } from "../../core/limits.js";
import type { ServiceInterceptor } from "../invoke.js";
import { createValidator } from "../validation.js";

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
