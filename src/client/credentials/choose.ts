import type { AgentCard, SecurityRequirement, SecurityScheme } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { aBoolean, assertOptions, aText, type OptionChecks } from "../../core/options.js";
import { placeOf } from "./api-key.js";
import { type Credential, type Credentials, separated } from "./credential.js";

/** A scheme that calls satisfy, and its credential. */
export interface ChosenScheme {
  /** Its name in the card. */
  readonly name: string;
  readonly scheme: SecurityScheme;
  /** Scopes that the requirement lists. */
  readonly scopes: readonly string[];
  readonly credential: Credential;
}

/** Credentials that calls of an agent carry. */
export interface Choice {
  /** All schemes of one requirement; empty if calls carry no credentials. */
  readonly schemes: readonly ChosenScheme[];
  /** Description of the missing credentials, if the card requires some and those given do not satisfy it. */
  readonly unmet: string | undefined;
}

/** Options of `chooseCredentials`. */
export interface ChooseOptions {
  /** Id of the skill that messages are for; its requirements apply in addition to the agent's (specification 4.4.5). */
  readonly skill?: string;
  /** True if connections present a certificate, which satisfies mutual TLS. Default false. */
  readonly certificate?: boolean;
  /** True if calls have a query for API keys; gRPC has none. Default true. */
  readonly query?: boolean;
}

const checks: OptionChecks<ChooseOptions> = { skill: aText(), certificate: aBoolean(), query: aBoolean() };

/** Maximum number of requirements considered per list: a card is untrusted, and the two lists are combined. */
const MAX_REQUIREMENTS = 32;

/** Maximum number of missing items in an error. */
const MAX_TOLD = 4;

/** Scopes by scheme name. */
type Scopes = ReadonlyMap<string, readonly string[]>;

/**
 * Finds the first security requirement of a card that can be met with all its schemes (specification 4.4.1, 4.5, 7.3).
 * `{}` admits callers without credentials and is used if nothing else can be met. If a card declares schemes but
 * requires none, the first scheme that fits is used.
 *
 * @throws TypeError for invalid options
 */
export function chooseCredentials(
  card: AgentCard,
  credentials: Credentials | undefined,
  options: ChooseOptions = {},
): Choice {
  assertOptions("chooseCredentials(card, credentials, options)", options, checks);
  return chosenCredentials(card, credentials, options);
}

/** Chooses as `chooseCredentials` does, without checking the options. Every call uses it. */
export function chosenCredentials(
  card: AgentCard,
  credentials: Credentials | undefined,
  options: ChooseOptions,
): Choice {
  const { skill, certificate = false } = options;
  const requirements = requirementsOf(card, skill);
  const isOpen = requirements.some((each) => each.size === 0);
  if (credentials === undefined && !certificate) return nothing;
  const wallet = new Wallet(card, credentials, options);
  const candidates = requirements.length > 0 ? requirements : Object.keys(card.securitySchemes).map(alone);
  for (const candidate of candidates) {
    const schemes = candidate.size === 0 ? undefined : wallet.meet(candidate);
    if (schemes !== undefined) return { schemes, unmet: undefined };
  }
  if (isOpen || requirements.length === 0 || credentials === undefined) return nothing;
  return { schemes: [], unmet: wallet.complaint(requirements) };
}

/** Describes the credentials that a card asks for, to a caller that gave none; undefined if it declares no scheme. */
export function missingCredentials(card: AgentCard, skill: string): string | undefined {
  const required = requirementsOf(card, skill).filter(({ size }) => size > 0);
  const ways = required.length > 0 ? required : Object.keys(card.securitySchemes).map(alone);
  return ways.length > 0 ? new Wallet(card, undefined, {}).complaint(ways) : undefined;
}

const nothing: Choice = { schemes: [], unmet: undefined };
const alone = (name: string): Scopes => new Map([[name, []]]);

/** Returns the alternative requirements: each of the agent's combined with each of the skill's. */
function requirementsOf(card: AgentCard, skill: string | undefined): Scopes[] {
  const ofAgent = scopesOf(card.securityRequirements);
  const found = skill === undefined ? undefined : card.skills.find(({ id }) => id === skill);
  const ofSkill = scopesOf(found?.securityRequirements ?? []);
  if (ofSkill.length === 0) return ofAgent;
  if (ofAgent.length === 0) return ofSkill;
  return ofAgent.flatMap((one) => ofSkill.map((other) => unionOfScopes(one, other)));
}

const scopesOf = (requirements: readonly SecurityRequirement[]): Scopes[] =>
  requirements
    .slice(0, MAX_REQUIREMENTS)
    .map(({ schemes }) => new Map(Object.entries(schemes).map(([name, { list }]) => [name, list])));

function unionOfScopes(one: Scopes, other: Scopes): Scopes {
  const all = new Map(one);
  for (const [name, scopes] of other) all.set(name, [...new Set([...(all.get(name) ?? []), ...scopes])]);
  return all;
}

/** The caller's credentials, matched against one card. */
class Wallet {
  readonly #card: AgentCard;
  readonly #options: ChooseOptions;
  readonly #unnamed: readonly Credential[];
  readonly #named: ReadonlyMap<string, Credential>;
  readonly #isEmpty: boolean;

  constructor(card: AgentCard, credentials: Credentials | undefined, options: ChooseOptions) {
    this.#card = card;
    this.#options = options;
    const { named, unnamed } = separated(credentials);
    this.#named = new Map(Object.entries(named));
    this.#isEmpty = this.#named.size + unnamed.length === 0;
    this.#unnamed = options.certificate === true ? [...unnamed, clientCertificate()] : unnamed;
  }

  /** Returns the credentials for all schemes of a requirement, or undefined. */
  meet(requirement: Scopes): ChosenScheme[] | undefined {
    const chosen: ChosenScheme[] = [];
    const places = new Map<string, Credential>();
    for (const [name, scopes] of requirement) {
      const scheme = this.#scheme(name);
      const credential = scheme && this.#find(name, scheme);
      if (scheme === undefined || credential === undefined) return undefined;
      const place = placeNameOf(scheme);
      // Two credentials cannot share a header: the second would replace the first.
      if (place !== undefined && (places.get(place) ?? credential) !== credential) return undefined;
      if (place !== undefined) places.set(place, credential);
      chosen.push({ name, scheme, scopes, credential });
    }
    return chosen;
  }

  complaint(requirements: readonly Scopes[]): string {
    const ways = requirements.map((each) => joinedList([...each.keys()], (name) => this.#describe(name), " with "));
    const names = [...this.#named.keys()].filter((name) => this.#scheme(name) === undefined);
    const unknown = names.length === 0 ? "" : ` The card has no ${joinedList(names, quotedName, ", ")}.`;
    const required = joinedList(ways, (way) => way, ", or ");
    const given = this.#isEmpty
      ? "No credentials were given that"
      : "The credentials that were given are not those that";
    return `${given} the agent requires: ${required}.${unknown}`;
  }

  #scheme(name: string): SecurityScheme | undefined {
    return Object.hasOwn(this.#card.securitySchemes, name) ? this.#card.securitySchemes[name] : undefined;
  }

  #find(name: string, scheme: SecurityScheme): Credential | undefined {
    if (this.#options.query === false && placeOf(scheme)?.location === "query") return undefined;
    const named = this.#named.get(name);
    if (named !== undefined) return named.fits(scheme) ? named : undefined;
    return this.#unnamed.find((credential) => credential.fits(scheme));
  }

  #describe(name: string): string {
    const scheme = this.#scheme(name);
    return scheme === undefined
      ? `${quotedName(name)}, which the card does not declare`
      : `${quotedName(name)} (${describedScheme(scheme)})`;
  }
}

const joinedList = (all: readonly string[], describe: (each: string) => string, between: string): string =>
  [...all.slice(0, MAX_TOLD).map(describe), ...(all.length > MAX_TOLD ? ["…"] : [])].join(between);

/** Quotes a name from the card: shortened, without terminal control characters. */
const quotedName = (name: string): string => JSON.stringify(name.slice(0, 64).replace(/[^\x20-\x7e]/g, "?"));

/** Names the place of a scheme's credential, to detect two at the same place. */
function placeNameOf(scheme: SecurityScheme): string | undefined {
  const place = placeOf(scheme);
  if (place !== undefined) return `${place.location} ${place.name}`;
  const kind = scheme.scheme.case;
  return kind === "mtlsSecurityScheme" || kind === undefined ? undefined : "header authorization";
}

function describedScheme({ scheme }: SecurityScheme): string {
  switch (scheme.case) {
    case "apiKeySecurityScheme":
      return "an API key";
    case "httpAuthSecurityScheme":
      return `HTTP authentication, ${scheme.value.scheme.slice(0, 32).replace(/[^\x20-\x7e]/g, "?")}`;
    case "oauth2SecurityScheme":
      return "OAuth 2.0";
    case "openIdConnectSecurityScheme":
      return "OpenID Connect";
    case "mtlsSecurityScheme":
      return "a client certificate";
    default:
      return "of an unknown kind";
  }
}

/**
 * Credential: the certificate of `tls`, for schemes with mutual TLS (specification 4.5.6). It declares that one is
 * configured; `tls.cert` and `tls.key` alone suffice as well. In browsers the user's settings decide.
 */
export function clientCertificate(): Credential {
  return { fits: ({ scheme }) => scheme.case === "mtlsSecurityScheme", apply: () => {} };
}
