import type { AgentInterface } from "../../../../gen/lf/a2a/v1/a2a_pb.js";
import type { FoundCard } from "../../../client/discovery/discovery.js";
import type { Candidate } from "../../../client/discovery/interfaces.js";
import { defaultClientLimits } from "../../../client/limits.js";
import { attempt } from "../../../core/members.js";
import { withoutSecrets } from "../../../core/net.js";
import { given } from "../../../core/options.js";
import type { Finding, Line, Probe } from "../../../examine/check.js";
import { checkLines, type Examination, uncalled } from "../../../examine/check-lines.js";
import { Wire } from "../../../examine/wire.js";
import { olderVersions } from "../../../version/client-versions.js";
import { PROTOCOL_VERSION } from "../../../version/v1.js";
import { CONNECT_BINDING } from "../../../wire/card-names.js";
import { parseVersion } from "../../../wire/service-params.js";
import { type Agent, type CardAndPlatform, interfacesOf, openInterface, readCard, type Tap } from "../agent.js";
import type { Context } from "../context.js";
import { Failure, usage } from "../errors.js";
import type { Output } from "../output.js";
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
  const probe: Probe = { client, card, binding: chosen.binding, text: probeText(context), signal, wire };
  try {
    yield* checkLines(probe, chosen, place, { isStrict, ...given({ after }) });
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

const probeText = (context: Context): string => context.own("message").at(-1) ?? "hello";

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

/** Reads the card of the agent that a command names once, with the interfaces that clients look at. @throws Failure */
export async function cardFound(context: Context, command: string, ref?: string, tap?: Tap): Promise<CardAndPlatform> {
  if (ref !== undefined && context.isFlag("agentCard"))
    throw usage("the agent is named twice: as argument and by --agent-card");
  if (context.settings.endpoint !== undefined) throw usage(`${command} needs a card: name it by --agent-card`);
  const { found, platform } = await readCard(context, ref, tap);
  const { maxInterfaces } = defaultClientLimits;
  const { length } = found.card.supportedInterfaces;
  if (length <= maxInterfaces) return { found, platform };
  context.out.warn(`the card has ${length} interfaces; the first ${maxInterfaces} are called`);
  const supportedInterfaces = found.card.supportedInterfaces.slice(0, maxInterfaces);
  return { found: { ...found, card: { ...found.card, supportedInterfaces } }, platform };
}

/** Returns the client's view of one interface, independent of the card's others; undefined if it cannot be called. */
export function candidateOf({ settings }: Context, found: FoundCard, declared: AgentInterface): Candidate | undefined {
  const alone = { ...found, card: { ...found.card, supportedInterfaces: [declared] } };
  return attempt(() => interfacesOf({ settings: { ...settings, a2aVersion: undefined, transport: [] } }, alone)[0]);
}

const bindings = ["GRPC", "JSONRPC", "HTTP+JSON", CONNECT_BINDING];

/** Returns the reason for not calling an interface: a fault of the card, or one to skip it. */
export function whyUncalled({ settings }: Context, declared: AgentInterface): NonNullable<Finding> {
  const { protocolBinding, protocolVersion, tenant, url } = declared;
  if (settings.tenant !== undefined && tenant !== settings.tenant) return { skipped: "it is of another tenant" };
  const version = parseVersion(protocolVersion);
  const isVersionKnown = version === PROTOCOL_VERSION || olderVersions.some(({ name }) => name === version);
  if (isVersionKnown && bindings.includes(protocolBinding))
    return { fault: `${JSON.stringify(withoutSecrets(url))} is not a URL that can be called` };
  return { skipped: `A2A ${protocolVersion} over ${protocolBinding} is not supported` };
}

/** Returns a line without credentials, which agents may repeat in their errors. */
export function redacted(line: Line, { redactor }: Output): Line {
  return line.detail === null ? line : { ...line, detail: redactor.text(line.detail) };
}
