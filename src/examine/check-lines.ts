import type { Candidate } from "../client/discovery/interfaces.js";
import { clientError, neverArrived } from "../client/errors/errors.js";
import { type Check, type Finding, type Line, lineOf, type Probe, type Subject } from "./check.js";
import { accessChecks } from "./checks/access.js";
import { listChecks } from "./checks/lists.js";
import { operationChecks } from "./checks/operations.js";
import { streamChecks } from "./checks/streams.js";
import { wireChecks } from "./checks/wire.js";

/** All checks of an interface, in their order: the first one tells whether it answers. */
const checks: readonly Check[] = [...operationChecks, ...listChecks, ...streamChecks, ...accessChecks, ...wireChecks];

const reachable = {
  name: "reachable",
  section: "5.2",
  requirement: "a declared interface answers",
  mend: "serve the interface at the URL of the card, or remove it from the card",
};

/** Returns the line of an interface that the checks leave out. */
export function uncalled(subject: Subject, why: NonNullable<Finding>): Line {
  return lineOf(subject, reachable, why);
}

/** Yields further lines of an interface, after its checks. */
type After = (probe: Probe, subject: Subject) => AsyncIterable<Line>;

export interface Examination {
  /**
   * True to check requirements only, to list checks that do not apply to an older version, and to end the run if a
   * credential is missing. False to include recommendations.
   */
  readonly isStrict: boolean;
  readonly after?: After;
}

/** Yields the lines of all checks of an interface. If it does not answer, further checks are left out. */
export async function* checkLines(
  probe: Probe,
  chosen: Candidate,
  subject: Subject,
  { isStrict, after }: Examination,
): AsyncGenerator<Line> {
  const wanted = checks.filter(
    ({ bindings, isAdvice }) => bindings?.includes(chosen.binding) !== false && !(isStrict && isAdvice === true),
  );
  for (const [at, check] of wanted.entries()) {
    if (!isIn(chosen, check)) {
      if (isStrict) yield lineOf(subject, check, { skipped: `not in A2A ${chosen.version}` });
      continue;
    }
    const { finding, isThere, isRefused } = await outcomeOf(check, probe, isStrict);
    if (at === 0) yield lineOf(subject, reachable, isThere ? undefined : finding);
    if (!isThere && at === 0) return;
    yield lineOf(subject, check, finding);
    if (isRefused) return;
  }
  if (after !== undefined) yield* after(probe, subject);
}

/** True if a check applies to the version of an interface. */
function isIn({ older }: Candidate, { isNew, isOfAgentsIds }: Check): boolean {
  if (older === undefined) return true;
  return isNew !== true && !(isOfAgentsIds === true && older.hasCallersIds === true);
}

/**
 * Runs a check. The result tells whether the agent answered, and whether it refused the credentials.
 * @throws the error of a refusal if the run is strict, and any error after the run was aborted
 */
async function outcomeOf(check: Check, probe: Probe, isStrict: boolean) {
  try {
    return { finding: await check.run(probe), isThere: true, isRefused: false };
  } catch (thrown) {
    const error = clientError(thrown);
    const isRefused = error.reason === "UNAUTHENTICATED" || error.reason === "PERMISSION_DENIED";
    if (probe.signal.aborted || (isRefused && isStrict)) throw thrown;
    const isDeclared = probe.card.securityRequirements.length > 0;
    if (isRefused && isDeclared)
      return { finding: { skipped: `the agent wants a credential (${error.reason})` }, isThere: true, isRefused };
    const isThere = !neverArrived(error) && error.reason !== "DEADLINE_EXCEEDED";
    return { finding: { fault: `${error.reason}: ${error.message}` }, isThere, isRefused };
  }
}
