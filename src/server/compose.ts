import type { AgentCard } from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { BindingOptions } from "../binding/binding.js";
import { ConfigurationError } from "../card/faults.js";
import { CardSigner } from "../card/signing/kept-signatures.js";
import type { Call } from "../core/call.js";
import { requestFacts } from "../core/log.js";
import { defined } from "../core/members.js";
import type { RemoteAgentRegistry } from "../delegation/options.js";
import { RemoteCalls } from "../delegation/remote-calls.js";
import { createEngine, type Engine } from "../engine/engine.js";
import type { RequestOrigin } from "../http/forwarded.js";
import { InboundBudget } from "../http/inbound-budget.js";
import type { PushControl } from "../push/dead-letters.js";
import type { PushOperations } from "../push/operations.js";
import { createInvoke } from "../service/a2a-service.js";
import { accessLog, rejectionLog } from "../service/interceptors/access-log.js";
import { chain, type Invoke } from "../service/invoke.js";
import { Tracing } from "../telemetry/tracing.js";
import { MismatchLog } from "../version/mismatch-log.js";
import { JWKS_PATH } from "../wire/webhook.js";
import { cardAt } from "./card-route.js";
import { composeHttp, type HttpComponents, type RuntimeParts } from "./compose-http.js";
import { watchParts } from "./gauges.js";
import { Lifecycle } from "./lifecycle.js";
import { remoteAgents as faultsOf } from "./option-kinds.js";
import type { Settings } from "./options.js";
import { createProxies } from "./proxies.js";
import { PublicAddress } from "./public-address.js";
import { publicKeysOf, pushSignerOf } from "./public-keys.js";
import { PushDelivery, pushConfigurationsOf } from "./push-delivery.js";
import { resourceMetadataUrl } from "./resource-route.js";

/** The connected parts of a server that are the same in every runtime. */
interface Components extends HttpComponents, SharedComponents {
  /** Options for further bindings of the runtime. */
  readonly binding: BindingOptions;
}

/** The parts of `Components` that servers on Node.js have as they are. */
export interface SharedComponents {
  readonly card: (call?: Call) => AgentCard;
  readonly engine: Engine;
  readonly lifecycle: Lifecycle;
  /** Control of push notifications; undefined if none are sent. */
  readonly push: PushControl | undefined;
  /** Operations for the operator's service; undefined if no notifications are sent. */
  readonly pushOperations: PushOperations | undefined;
  readonly remoteAgents: RemoteAgentRegistry;
  /** The public address. A server with ports reports the ports to it. */
  readonly address: PublicAddress;
}

/** Creates every part that works without Node.js, and connects them: the composition root. */
export function compose(settings: Settings, parts: RuntimeParts): Components {
  const { agents, audit, limits, logger, metrics, signals, store, streamErrorsAsEvents, versions } = settings;
  const { connect, push: modules } = parts;
  const agentName = (tenant: string): string | undefined => agents.resolve(tenant)?.agent.card.name;
  const tracing = new Tracing({ telemetry: settings.telemetry, load: parts.openTelemetry, logger, metrics });
  const outgoing = new RemoteCalls({ agents: settings.remoteAgents, limits, logger, agentName, tracing, connect });
  const engine = createEngine({
    ...settings.engine,
    outgoing,
    tracing,
    ...{ store, signals },
    limits,
    openTenants: agents.anyTenant,
    ...{ logger, metrics, agentOf: (tenant) => agents.resolve(tenant) },
  });
  const address = new PublicAddress(settings);
  const { signer, pushSigner, publicKeys, prepare } = signingOf(settings, address);
  const push =
    pushSigner &&
    modules &&
    settings.push &&
    new PushDelivery(settings, settings.push, { engine, signer: pushSigner, agentName, modules, tracing });
  const lifecycle = new Lifecycle({ engine, store, signals, limits, logger, audit, push, outgoing, tracing, prepare });
  const proxies = createProxies(settings.trust, settings.proxyHeaders);
  // Calls over gRPC or through another router have no mount path.
  const originOf = (call: Call): RequestOrigin => ({
    ...proxies.originOf(call),
    mount: call.mount ?? settings.basePath,
  });
  const mismatches = new MismatchLog(logger);
  const service = { engine, address, originOf, mismatches, modules, signer, lifecycle, outgoing, tracing };
  const serve = serviceOf(settings, service);
  const logging = settings.accessLog ? [accessLog(logger)] : [];
  const onRejection = settings.accessLog ? rejectionLog(logger, (from) => proxies.addressOf(from)) : undefined;
  const invoke = chain([proxies.intercept, ...logging, lifecycle.afterStart], serve);
  const inboundBudget = new InboundBudget({ limits, isProxy: settings.trust });
  const mismatched: BindingOptions["mismatched"] = (from, mismatch) =>
    mismatches.note({ ...mismatch, address: proxies.addressOf(from), cause: requestFacts(from) });
  const forAll = { versions, invoke, limits, inboundBudget, logger, streamErrorsAsEvents };
  if (metrics !== undefined) watchParts(metrics, { engine, store, push: push?.control, lifecycle });
  const counted: BindingOptions["counted"] = metrics && ((code) => metrics.requestRefused("grpc", code));
  const binding: BindingOptions = { ...forAll, onRejection, counted, mismatched };
  const http = composeHttp(settings, parts, { binding, address, proxies, signer, publicKeys });
  return {
    ...http,
    binding,
    card: (call) => {
      // A server always has at least one agent.
      const served = agents.resolve(call?.tenant ?? "") ?? defined(agents.all[0]);
      const card = cardAt(served, address, call === undefined ? undefined : originOf(call));
      return signer === undefined ? card : signer.signedNow(card);
    },
    engine,
    lifecycle,
    push: push?.control,
    pushOperations: push?.operations,
    remoteAgents: remoteAgentRegistry(outgoing),
    address,
  };
}

interface ServiceParts {
  readonly engine: Engine;
  readonly address: PublicAddress;
  readonly originOf: (call: Call) => RequestOrigin;
  readonly mismatches: MismatchLog;
  readonly modules: RuntimeParts["push"];
  readonly signer: CardSigner | undefined;
  readonly lifecycle: Lifecycle;
  readonly outgoing: RemoteCalls;
  readonly tracing: Tracing;
}

function serviceOf(settings: Settings, parts: ServiceParts): Invoke {
  const { agents, limits, logger, versions, audit, metrics } = settings;
  const { engine, address, originOf, mismatches, modules, signer, lifecycle, outgoing, tracing } = parts;
  return createInvoke({
    ...settings.service,
    agents,
    engine,
    limits,
    logger,
    audit,
    metrics,
    versions,
    mismatches,
    interfaces: (tenant, call) =>
      call.version === versions.native.name
        ? address.nativeInterfaces(tenant, originOf(call))
        : address.interfaces(tenant, originOf(call)),
    resourceMetadata: (tenant, call) => resourceMetadataUrl(address.url(originOf(call)), tenant),
    push: pushConfigurationsOf(settings, modules),
    keepsBearer: () => outgoing.agents.passesCallers,
    tracing,
    signCard: signer && ((card) => signer.sign(card)),
    draining: () => lifecycle.refuses,
  });
}

/** Signers of a server and the keys that it publishes for them. */
interface Signing {
  readonly signer: CardSigner | undefined;
  readonly pushSigner: ReturnType<typeof pushSignerOf>;
  readonly publicKeys: ReturnType<typeof publicKeysOf>;
  /** Reads the keys and signs the public cards, so that wrong keys fail the start. */
  readonly prepare: () => Promise<void>;
}

function signingOf(settings: Settings, address: PublicAddress): Signing {
  const signer = signerOf(settings, address);
  const pushSigner = pushSignerOf(settings, address);
  const publicKeys = publicKeysOf(settings, signer, pushSigner);
  const prepare = async (): Promise<void> => {
    if (signer !== undefined) await signPublicCards(signer, settings, address);
    if (pushSigner !== undefined) await pushSigner();
    if (publicKeys !== undefined) await publicKeys.given();
  };
  return { signer, pushSigner, publicKeys, prepare };
}

function signerOf({ cardSigning, audit }: Settings, address: PublicAddress): CardSigner | undefined {
  if (cardSigning === undefined) return undefined;
  // Without TLS, an attacker could replace the fetched key (specification 8.4.3).
  const ownJku = (): string | undefined => {
    const url = address.url();
    return url.startsWith("https:") && cardSigning.jwks !== false ? `${url}${JWKS_PATH}` : undefined;
  };
  return new CardSigner({ signing: cardSigning, ownJku, audit });
}

async function signPublicCards(
  signer: CardSigner,
  { agents, logger }: Settings,
  address: PublicAddress,
): Promise<void> {
  const doubtful = await signer.prepare(agents.all.map((served) => cardAt(served, address)));
  for (const name of doubtful) {
    logger.warn(
      {},
      `the card of ${name} has empty values. Libraries that drop them before verifying will reject its signature; ` +
        "set cardSigning.alsoWithoutEmpty",
    );
  }
}

/** Returns the agents that a server's agents may call, with the checks of the option. */
function remoteAgentRegistry({ agents }: Pick<RemoteCalls, "agents">): RemoteAgentRegistry {
  return {
    get names() {
      return agents.names;
    },
    add: (name, agent) => {
      const isName = typeof name === "string" && name !== "";
      const faults = isName
        ? faultsOf("remoteAgents", { [name]: agent })
        : ["the name of the agent is empty or not a text"];
      if (faults.length > 0) throw new ConfigurationError("Invalid options", faults);
      agents.add(name, agent);
    },
    remove: (name) => agents.remove(name),
  };
}
