import type { FoundCard } from "../../../client/discovery/discovery.js";
import type { Candidate } from "../../../client/discovery/interfaces.js";
import { withoutSecrets } from "../../../core/net.js";
import type { Probe } from "../../../examine/check.js";
import { checkLines, type Examination, uncalled } from "../../../examine/check-lines.js";
import type { Line } from "../../../examine/line.js";
import { Wire } from "../../../examine/wire.js";
import { type Agent, openInterface } from "../agent.js";
import type { Context } from "../context.js";
import { Failure } from "../errors.js";
import type { Scope } from "../scope.js";

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
  try {
    yield* checkLines(probe, chosen, place, { isStrict, ...(after !== undefined && { after }) });
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
