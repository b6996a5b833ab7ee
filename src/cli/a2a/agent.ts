import { createReadStream, existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import {
  AgentCapabilitiesSchema,
  type AgentCard,
  AgentCardSchema,
  type AgentInterface,
} from "../../../gen/lf/a2a/v1/a2a_pb.js";
import type { A2AClient } from "../../client/client.js";
import { connectWith } from "../../client/connect.js";
import { CardRequestError, type FoundCard, findCard } from "../../client/discovery/discovery.js";
import { bindings, type Candidate, candidatesOf } from "../../client/discovery/interfaces.js";
import { comparableHost } from "../../client/hosts.js";
import { clientLimits, defaultClientLimits } from "../../client/limits.js";
import { nodePlatform } from "../../client/node/platform.js";
import type { ClientOptions } from "../../client/options.js";
import type { HttpClient, Platform } from "../../client/platform.js";
import { A2AError } from "../../core/error.js";
import { messageIn } from "../../core/members.js";
import { isLoopback, parseUrl, withoutSecrets } from "../../core/net.js";
import { given } from "../../core/options.js";
import { PROTOCOL_VERSION } from "../../version/v1.js";
import { withoutName } from "./agents/names.js";
import { firstContact, type InterfaceChoice, mayReplace, replacementsOf } from "./contact.js";
import { cardAuthorization, chooseFor, serviceParameters } from "./credentials.js";
import { debugInterceptor, debugPlatform } from "./debug.js";
import { Failure, usage } from "./errors.js";
import { cardFailure } from "./failures.js";
import type { Scope } from "./scope.js";
import { tlsOf } from "./tls.js";

/** Time for the card and for each single call, in milliseconds. */
const CALL_MS = 30_000;

/** Largest card, in bytes. */
const MAX_CARD_BYTES = 1024 * 1024;

/** An agent that is called by one of its interfaces. */
export interface Agent {
  readonly client: A2AClient;
  /** Returns a client that polls and never streams. */
  readonly polling: () => Promise<A2AClient>;
  /** Undefined with `--endpoint`. */
  readonly card: AgentCard | undefined;
  readonly chosen: Candidate;
  /** True if the agent declares streaming, or if its card is unknown. */
  readonly canStream: boolean;
}

/** A card and the connections that found it. */
export interface CardAndPlatform {
  readonly found: FoundCard;
  readonly platform: Platform;
}

export type Reference = { readonly url: URL; readonly isExact: boolean } | { readonly file: string };

/** Wraps the HTTP clients of a run. */
export type Tap = (http: HttpClient) => HttpClient;

/**
 * Finds the card of the run, or makes one of `--endpoint`, and opens a client of the chosen interface.
 *
 * @param tap sees each request and answer
 * @throws Failure
 */
export async function connectAgent(context: Scope, tap?: Tap): Promise<Agent> {
  const { endpoint } = context.settings;
  const { found, platform } =
    endpoint === undefined
      ? await readCard(context, undefined, tap)
      : { found: cardOfEndpoint(context), platform: openPlatform(context, tap) };
  try {
    const chosen = choose(context, found);
    const agent = await open(context, found, platform, {
      chosen,
      others: replacementsOf(interfacesOf(context, found), chosen, context.settings.transport),
    });
    const { version } = agent.chosen;
    if (version !== PROTOCOL_VERSION) context.out.note(`note: speaking A2A ${version}`);
    return agent;
  } catch (error) {
    await platform.close();
    throw error;
  }
}

/** An agent as its card describes it, before it is called. */
export interface AgentInterfaces {
  readonly found: FoundCard;
  readonly chosen: Candidate;
  /** Origin for which logins are stored. */
  readonly agent: string;
  /** Origins of the interfaces that may get its credentials: the chosen one, and others of the card's own host. */
  readonly origins: readonly string[];
}

/** Finds the card of the run, and its interfaces. @throws Failure */
export async function findAgent(context: Scope): Promise<AgentInterfaces> {
  const isKnown = context.settings.endpoint === undefined;
  const { found, platform } = isKnown
    ? await readCard(context)
    : { found: cardOfEndpoint(context), platform: undefined };
  await platform?.close();
  const chosen = choose(context, found);
  const agent = originOf(found, chosen.url);
  const all = interfacesOf(context, found).map(({ url }) => new URL(url));
  const own = all.filter(
    ({ href, protocol }) =>
      comparableHost(href) === comparableHost(agent) && (protocol === "https:" || isLoopback(href)),
  );
  return { found, chosen, agent, origins: [...new Set([new URL(chosen.url), ...own].map(({ origin }) => origin))] };
}

/** Returns the origin for which logins of the run's agent are stored, without a request. @throws Failure */
export async function agentOrigin(context: Scope): Promise<string> {
  const { agentCard } = context.settings;
  const reference = agentCard === undefined ? undefined : await referenceOf(agentCard, context);
  if (reference !== undefined && "url" in reference) return reference.url.origin;
  const { agent } = await findAgent(context);
  return agent;
}

/** Opens a client of one interface of a card, with connections of its own. @throws Failure */
export async function openInterface(context: Scope, found: FoundCard, chosen: Candidate, tap?: Tap): Promise<Agent> {
  const platform = openPlatform(context, tap);
  try {
    return await open(context, found, platform, { chosen });
  } catch (error) {
    await platform.close();
    throw error;
  }
}

const called = ({ declared, url }: Candidate): AgentInterface => ({ ...declared, url });

async function open(
  context: Scope,
  found: FoundCard,
  platform: Platform,
  { chosen, others = [] }: InterfaceChoice,
): Promise<Agent> {
  const { settings, out } = context;
  const { binding, url, version } = chosen;
  const alone = { ...found.card, supportedInterfaces: [called(chosen)] };
  if (settings.debug) out.note(`debug: interface ${binding} ${url}, A2A ${version}, ${reasonOf(context)}`);
  const tls = tlsOf(context);
  const certificate = tls?.cert !== undefined;
  const { credentials, headers } = await chooseFor(context, {
    card: alone,
    binding,
    agent: originOf(found, url),
    url,
    certificate,
  });
  warnOf(context, found, url);
  const hasSecrets = certificate || credentials !== undefined || headers.length + settings.svcParam.length > 0;
  const ways = [chosen, ...others.filter((other) => mayReplace(other, chosen, hasSecrets))];
  const card = { ...found.card, supportedInterfaces: ways.map(called) };
  const options: ClientOptions = {
    bindings: [...new Set(ways.map((way) => way.binding))],
    allowHttp: true,
    ...given({ tls, credentials, tenant: found.url === undefined ? settings.tenant : undefined }),
    interceptors: [
      firstContact(context, ways.length),
      serviceParameters([...settings.svcParam, ...headers]),
      ...(settings.debug ? [debugInterceptor(out)] : []),
    ],
    telemetry: false,
    limits: {
      timeoutMs: CALL_MS,
      sendTimeoutMs: settings.timeout,
      maxAttempts: 1,
      retryMs: settings.pollInterval,
      maxRetryMs: Math.max(settings.pollInterval, Math.min(30_000, 4 * settings.pollInterval)),
      ...(settings.timeout > 0 && { maxResumeMs: settings.timeout }),
    },
  };
  const connect = connectWith(() => platform);
  const client = await connect(card, options);
  const isKnown = settings.endpoint === undefined;
  return {
    client,
    polling: () => connect({ ...card, capabilities: create(AgentCapabilitiesSchema) }, options),
    card: isKnown ? found.card : undefined,
    chosen,
    canStream: !isKnown || found.card.capabilities?.streaming === true,
  };
}

/** Returns the origin of an agent, for which its logins are stored. @param url that of its interface */
export function originOf({ asked }: Pick<FoundCard, "asked">, url: string): string {
  return new URL(asked ?? url).origin;
}

function openPlatform(context: Scope, tap?: Tap): Platform {
  const { settings, out } = context;
  const tls = tlsOf(context);
  const platform = nodePlatform({
    verifyTls: !settings.insecure,
    limits: { connectTimeoutMs: CALL_MS },
    ...given({ tls, tap }),
  });
  return settings.debug ? debugPlatform(out, platform) : platform;
}

/** Reads the card that the reference names. @throws Failure */
export async function readCard(context: Scope, given?: string, tap?: Tap): Promise<CardAndPlatform> {
  const ref = given ?? context.settings.agentCard;
  if (ref === undefined) {
    throw usage("no agent is named", "name it by --agent-card (A2ACLI_AGENT_CARD) or --endpoint");
  }
  const reference = await referenceOf(ref, context);
  const platform = openPlatform(context, tap);
  try {
    const found = await find(context, reference, platform);
    if (context.settings.debug) context.out.note(`debug: card from ${found.url ?? ref}`);
    return { found, platform };
  } catch (error) {
    await platform.close();
    throw context.signal.aborted ? error : cardFailure(error, context);
  }
}

async function find(context: Scope, reference: Reference, platform: Platform): Promise<FoundCard> {
  const { settings, signal } = context;
  const finding = {
    http: platform.http,
    cache: undefined,
    limits: clientLimits({ cardTimeoutMs: CALL_MS, maxCardBytes: MAX_CARD_BYTES, maxAttempts: 1 }),
    signal,
    version: settings.a2aVersion === PROTOCOL_VERSION ? undefined : settings.a2aVersion,
  };
  if ("file" in reference) return findCard(await readCardFile(reference.file), { ...finding, options: {} });
  const { url, isExact } = reference;
  const headers = new Headers();
  for (const [name, value] of settings.svcParam) headers.append(name, value);
  try {
    return await findCard(url, { ...finding, isExact, options: { headers } });
  } catch (error) {
    const again = error instanceof CardRequestError ? cardAuthorization(context, url, error) : undefined;
    if (again === undefined) throw error;
    headers.set("authorization", again);
    return findCard(url, { ...finding, isExact, options: { headers } });
  }
}

async function readCardFile(file: string): Promise<string> {
  try {
    // A pipe or device may have no end.
    const bytes = await buffer(createReadStream(file, { end: MAX_CARD_BYTES }));
    if (bytes.length > MAX_CARD_BYTES) throw new Failure("A2ACLI_ERR_CARD_INVALID", `${file} is larger than 1 MiB.`);
    const text = bytes.toString("utf8");
    if (!text.trimStart().startsWith("{"))
      throw new Failure("A2ACLI_ERR_CARD_INVALID", `${file} is not a JSON object.`);
    return text;
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure("A2ACLI_ERR_CARD_NOT_FOUND", `The card cannot be read: ${messageIn(error)}`, {
      hint: "check the reference (--agent-card)",
      cause: error,
    });
  }
}

/**
 * Finds what a reference means: a name of the address book, a URL, a file or a host, in this order.
 *
 * @param where its origin, for errors
 * @throws Failure
 */
export async function referenceOf(given: string, { io }: Scope, where = "--agent-card"): Promise<Reference> {
  const ref = withoutName(io, given);
  if (ref.includes("://")) {
    const url = parseUrl(ref);
    if (url?.protocol === "file:") return { file: fileURLToPath(url) };
    if (url === undefined || !/^https?:$/.test(url.protocol)) {
      throw usage(`${where}: ${withoutSecrets(ref)} is not a URL with http, https or file`);
    }
    return originOrCard(url, where);
  }
  const path = ref.startsWith("~/") ? join(io.home ?? homedir(), ref.slice(2)) : resolve(io.cwd, ref);
  if (/^(?:\/|\.\.?\/|~\/)/.test(ref) || /\.json$/i.test(ref) || existsSync(path)) return { file: path };
  const scheme = isLoopback(`http://${ref}`) ? "http" : "https";
  const url = parseUrl(`${scheme}://${ref}`);
  if (url === undefined) throw usage(`${where}: ${withoutSecrets(ref)} is neither a host, a URL nor a file`);
  return originOrCard(url, where);
}

function originOrCard(url: URL, where: string): Reference {
  if (url.username !== "" || url.password !== "") {
    throw usage(`${where}: the URL has credentials`, "give them by --auth (A2ACLI_AUTH)");
  }
  return { url, isExact: url.pathname !== "/" };
}

/** Makes a card for the only interface that is known, that of `--endpoint`. */
function cardOfEndpoint({ settings }: Scope): FoundCard {
  const { endpoint = "", transport, tenant = "", a2aVersion = PROTOCOL_VERSION } = settings;
  if (transport.length !== 1) throw usage("--endpoint needs exactly one --transport");
  const card = create(AgentCardSchema, {
    name: endpoint,
    capabilities: { streaming: true },
    supportedInterfaces: [{ url: endpoint, protocolBinding: transport[0] ?? "", protocolVersion: a2aVersion, tenant }],
  });
  // The names of Connect in cards differ from its name as a binding.
  const [own] = card.supportedInterfaces;
  if (own?.protocolBinding === "CONNECT") own.protocolBinding = "urn:parley:binding:connect:v1";
  return { card, url: undefined, text: undefined, asked: undefined, isGuessed: false, isVerified: false };
}

/** Chooses the interface of the run. @throws Failure */
export function choose(context: Scope, found: FoundCard): Candidate {
  const { a2aVersion, transport } = context.settings;
  const [first] = interfacesOf(context, found);
  if (first === undefined) throw new Failure("PARLEY_ERR_NO_INTERFACE", "The agent has no interface.");
  if (first.older !== undefined && a2aVersion === undefined) {
    throw new A2AError(
      "VERSION_NOT_SUPPORTED",
      `The agent speaks A2A ${first.version}, which is spoken on request only: --a2a-version ${first.version}.`,
    );
  }
  if (transport.length > 0 && !transport.includes(first.binding)) {
    context.out.note(`note: the agent offers none of the preferred transports; using ${first.binding}`);
  }
  return first;
}

/** Returns the interfaces that can be called, in order of preference. @throws Failure */
export function interfacesOf(
  { settings }: Pick<Scope, "settings">,
  { card, url, isGuessed }: FoundCard,
): readonly Candidate[] {
  const { tenant, a2aVersion, endpoint, transport } = settings;
  const ofTenant = card.supportedInterfaces.filter((each) => tenant === undefined || each.tenant === tenant);
  if (ofTenant.length === 0 && card.supportedInterfaces.length > 0) {
    throw new Failure("PARLEY_ERR_NO_INTERFACE", `The agent has no interface of the tenant ${tenant}.`, {
      hint: "card get shows its interfaces",
    });
  }
  try {
    return candidatesOf(
      { ...card, supportedInterfaces: ofTenant },
      {
        available: new Set(bindings),
        only: undefined,
        prefer: transport,
        cardUrl: url,
        allowHttp: false,
        plaintextGrpc: undefined,
        maxInterfaces: defaultClientLimits.maxInterfaces,
        version: a2aVersion,
        isGuessed,
      },
    );
  } catch (error) {
    if (!(error instanceof A2AError) || error.reason !== "UNSUPPORTED_OPERATION") throw error;
    if (endpoint !== undefined) throw usage(`--endpoint: ${withoutSecrets(endpoint)} is not a URL for this transport`);
    throw new Failure("PARLEY_ERR_NO_INTERFACE", error.message, {
      hint: "card get shows the interfaces",
      cause: error,
    });
  }
}

function reasonOf({ settings }: Scope): string {
  if (settings.endpoint !== undefined) return "named by --endpoint";
  return settings.transport.length > 0 ? "by preference (--transport)" : "the first of the card that is supported";
}

/** Warns of credentials that are at risk. */
export function warnOf({ settings, out, usesLogin }: Scope, found: FoundCard, url: string): void {
  const { bearer, apiKey, auth, svcParam, insecure } = settings;
  const hasCredential = usesLogin || [bearer, apiKey, auth].some((value) => value !== undefined) || svcParam.length > 0;
  if (insecure) {
    out.warn(
      hasCredential
        ? "CERTIFICATES ARE NOT VERIFIED (--insecure), AND CREDENTIALS ARE SENT: anyone on the way can read them"
        : "certificates are not verified (--insecure)",
    );
  }
  if (!hasCredential) return;
  if (url.startsWith("http:") && !isLoopback(url))
    out.warn(`credentials are sent without encryption to ${comparableHost(url)}`);
  const from = found.url === undefined ? undefined : comparableHost(found.url);
  if (from !== undefined && from !== comparableHost(url)) {
    out.warn(`credentials are sent to ${comparableHost(url)}, which the card of ${from} names`);
  }
}
