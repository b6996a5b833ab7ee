import type { FoundCard } from "../../../client/discovery/discovery.js";
import type { Candidate } from "../../../client/discovery/interfaces.js";
import { clientError, neverArrived } from "../../../client/errors/errors.js";
import { withoutSecrets } from "../../../core/net.js";
import { type Agent, openInterface } from "../agent.js";
import type { Context } from "../context.js";
import { Failure } from "../errors.js";
import type { Scope } from "../scope.js";
import type { Check, Finding, Probe } from "./check.js";
import { accessChecks } from "./checks/access.js";
import { listChecks } from "./checks/lists.js";
import { operationChecks } from "./checks/operations.js";
import { streamChecks } from "./checks/streams.js";
import { wireChecks } from "./checks/wire.js";
import { type Line, lineOf, type Place } from "./line.js";
import { Wire } from "./wire.js";

/** All checks of an interface, in their order: the first one tells whether it answers. */
const checks: readonly Check[] = [...operationChecks, ...listChecks, ...streamChecks, ...accessChecks, ...wireChecks];

const reachable = {
  name: "reachable",
  section: "5.2",
  requirement: "a declared interface answers",
  mend: "serve the interface at the URL of the card, or remove it from the card",
};

/** Returns the line of an interface that is not called. */
export function uncalled(place: Place, why: NonNullable<Finding>): Line {
  return lineOf(place, reachable, why);
}

/** Yields further lines of an interface, after its checks. */
type After = (probe: Probe, place: Place) => AsyncIterable<Line>;

/** Options of an examination. */
interface Examination {
  /**
   * True to check requirements only, to list checks that do not apply to an older version, and to end the run if a
   * credential is missing. False to include recommendations.
   */
  readonly isStrict: boolean;
  readonly after?: After;
}

/** Runs all checks of an interface. One that does not answer has no further checks. */
export async function* examined(
  context: Context,
  found: FoundCard,
  chosen: Candidate,
  { isStrict, after }: Examination,
): AsyncGenerator<Line> {
  const { card } = found;
  const place = { binding: chosen.binding, version: chosen.version, url: withoutSecrets(chosen.url) };
  const required = card.capabilities?.extensions.filter((each) => each.required).map(({ uri }) => uri) ?? [];
  const wire = new Wire(required);
  const agent = await opened(context, found, chosen, { wire, isStrict });
  if (agent === undefined) {
    yield uncalled(place, { skipped: "the agent wants a credential: auth login, or an option such as --bearer" });
    return;
  }
  const { client } = agent;
  const { signal } = context;
  const probe: Probe = { client, card, binding: chosen.binding, text: textOf(context), signal, wire };
  const wanted = checks.filter(
    ({ bindings, isAdvice }) => bindings?.includes(chosen.binding) !== false && !(isStrict && isAdvice === true),
  );
  try {
    for (const [at, check] of wanted.entries()) {
      if (!isIn(chosen, check)) {
        if (isStrict) yield lineOf(place, check, { skipped: `not in A2A ${chosen.version}` });
        continue;
      }
      const { finding, isThere, isRefused } = await outcomeOf(context, check, probe, isStrict);
      if (at === 0) yield lineOf(place, reachable, isThere ? undefined : finding);
      if (!isThere && at === 0) return;
      yield lineOf(place, check, finding);
      if (isRefused) return;
    }
    if (after !== undefined) yield* after(probe, place);
  } finally {
    await client.close();
  }
}

/** Opens a client; undefined if its credential is missing. @throws Failure, also for that if the examination is strict */
async function opened(
  context: Context,
  found: FoundCard,
  chosen: Candidate,
  { wire, isStrict }: { readonly wire: Wire; readonly isStrict: boolean },
): Promise<Agent | undefined> {
  try {
    return await openInterface(probing(context), found, chosen, wire.tap);
  } catch (error) {
    const isMissing = error instanceof Failure && error.code === "A2ACLI_ERR_CREDENTIALS_MISSING";
    if (!isStrict && isMissing) return undefined;
    throw error;
  }
}

/** True if the version of an interface has what a check is about. */
function isIn({ older }: Candidate, { isNew, isOfAgentsIds }: Check): boolean {
  if (older === undefined) return true;
  return isNew !== true && !(isOfAgentsIds === true && older.hasCallersIds === true);
}

const textOf = (context: Context): string => context.own("message").at(-1) ?? "hello";

/** An interface that is not reached is a finding, and does not end the run. */
export function probing(context: Context): Scope {
  const { io, out, settings, resolved, given, signal } = context;
  return {
    ...{ io, out, settings, resolved, given, signal, task: undefined },
    get usesLogin() {
      return context.usesLogin;
    },
    noteLogin: () => context.noteLogin(),
    onClose: (close) => context.onClose(close),
    noteCut: () => {},
    end: () => {},
  };
}

interface Outcome {
  readonly finding: Finding;
  readonly isThere: boolean;
  /** True if the agent wants other credentials. */
  readonly isRefused: boolean;
}

/** Runs a check. @throws errors of authentication, which concern the run, if it is strict, and the end of the run */
async function outcomeOf(context: Context, check: Check, probe: Probe, isStrict: boolean): Promise<Outcome> {
  try {
    return { finding: await check.run(probe), isThere: true, isRefused: false };
  } catch (thrown) {
    const error = clientError(thrown);
    const isRefused = error.reason === "UNAUTHENTICATED" || error.reason === "PERMISSION_DENIED";
    if (context.signal.aborted || (isRefused && isStrict)) throw thrown;
    const isDeclared = probe.card.securityRequirements.length > 0;
    if (isRefused && isDeclared)
      return { finding: { skipped: `the agent wants a credential (${error.reason})` }, isThere: true, isRefused };
    const isThere = !neverArrived(error) && error.reason !== "DEADLINE_EXCEEDED";
    return { finding: { fault: `${error.reason}: ${error.message}` }, isThere, isRefused };
  }
}
