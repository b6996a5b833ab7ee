import { isJsonObject } from "../../wire/json-struct.js";
import { parseVersion } from "../../wire/service-params.js";
import { type CardJson, copied, isSet, mapItems, textOr } from "../card-json.js";
import type { CardConversions } from "../version.js";

const sharedMembers = ["name", "description", "version", "documentationUrl"];
const skillMembers = ["id", "name", "description", "tags", "examples"];

/** The mode that means plain text in the schema of 0.1. */
const PLAIN = "text";

const modes = (given: unknown): unknown => mapItems(given, (mode) => (mode === PLAIN ? "text/plain" : mode));

/** Converts the JSON of a card of 0.1 to 1.0. Malformed members are passed on as they are. */
export function cardFromV01(card: CardJson): CardJson {
  const { url, provider, capabilities, authentication, skills } = card;
  return {
    description: "",
    ...copied(card, sharedMembers),
    supportedInterfaces: isSet(url) ? [{ url, protocolBinding: "JSONRPC", protocolVersion: "0.1" }] : [],
    ...(isSet(provider) && { provider: isJsonObject(provider) ? { ...provider, url: provider.url ?? "" } : provider }),
    capabilities: isJsonObject(capabilities) ? copied(capabilities, ["streaming", "pushNotifications"]) : {},
    defaultInputModes: modes(card.defaultInputModes ?? [PLAIN]),
    defaultOutputModes: modes(card.defaultOutputModes ?? [PLAIN]),
    skills: mapItems(skills ?? [], skillFromV01),
    ...(isJsonObject(authentication) && securityFromV01(authentication)),
  };
}

function skillFromV01(skill: unknown): unknown {
  if (!isJsonObject(skill)) return skill;
  const { inputModes, outputModes } = skill;
  return {
    description: "",
    tags: [],
    ...copied(skill, skillMembers),
    ...(isSet(inputModes) && { inputModes: modes(inputModes) }),
    ...(isSet(outputModes) && { outputModes: modes(outputModes) }),
  };
}

/** Each scheme is an alternative, because 0.1 cannot require several at once. */
function securityFromV01({ schemes, credentials }: CardJson): CardJson {
  // Some published cards have one name in place of the list.
  const names = (Array.isArray(schemes) ? schemes : [schemes]).filter((name) => typeof name === "string");
  const hints = hintsOf(credentials);
  const isOpen = (name: string): boolean => /^(?:none|public)$/i.test(name);
  const needed = names.filter((name) => !isOpen(name));
  return {
    securitySchemes: Object.fromEntries(needed.map((name) => [name, schemeFromV01(name, hints)])),
    securityRequirements: names.map((name) => ({ schemes: isOpen(name) ? {} : { [name]: { list: [] } } })),
  };
}

/** A scheme by its name; an unknown one becomes a scheme that cannot be satisfied. */
function schemeFromV01(name: string, hints: CardJson): CardJson {
  const bearer = { httpAuthSecurityScheme: { scheme: "bearer" } };
  switch (name.toLowerCase().replace(/[-_ ]/g, "")) {
    case "bearer":
      return bearer;
    case "basic":
      return { httpAuthSecurityScheme: { scheme: "basic" } };
    case "apikey":
      return {
        apiKeySecurityScheme: { location: textOr(hints.in, "header"), name: textOr(hints.name, "X-API-Key") },
      };
    case "oauth2":
      return flowFromV01(hints) ?? bearer;
    default:
      return {};
  }
}

function flowFromV01(hints: CardJson): CardJson | undefined {
  const flow = copied(hints, ["authorizationUrl", "tokenUrl", "refreshUrl"]);
  if (typeof flow.tokenUrl !== "string") return undefined;
  const isCode = typeof flow.authorizationUrl === "string";
  const scopes = isJsonObject(hints.scopes) ? hints.scopes : {};
  return {
    oauth2SecurityScheme: { flows: { [isCode ? "authorizationCode" : "clientCredentials"]: { ...flow, scopes } } },
  };
}

/** The public part of the credentials: a JSON text with the location of a key or the source of tokens. */
function hintsOf(credentials: unknown): CardJson {
  if (isJsonObject(credentials)) return credentials;
  try {
    const hints: unknown = JSON.parse(typeof credentials === "string" ? credentials : "{}");
    return isJsonObject(hints) ? hints : {};
  } catch {
    return {};
  }
}

/**
 * Converts the JSON of a card of 1.0 to 0.1, for JSON-RPC clients at `url`. Undefined if the agent is not served to
 * them, or if it requires a scheme that 0.1 cannot express: without it the card would claim that authentication is not
 * needed.
 */
export function cardToV01(card: CardJson): CardJson | undefined {
  const supported = (Array.isArray(card.supportedInterfaces) ? card.supportedInterfaces : []).filter(isJsonObject);
  const main = supported.find(
    ({ protocolBinding, protocolVersion, tenant = "" }) =>
      protocolBinding === "JSONRPC" && parseVersion(String(protocolVersion ?? "")) === "0.1" && tenant === "",
  );
  const authentication = securityToV01(card);
  if (main === undefined || authentication === undefined) return undefined;
  const { streaming = false, pushNotifications = false } = isJsonObject(card.capabilities) ? card.capabilities : {};
  return {
    ...copied(card, [...sharedMembers, "provider"]),
    // 0.1 lacks this member, and its readers ignore it: readers of several versions detect the version by it.
    protocolVersion: "0.1",
    url: main.url,
    capabilities: { streaming, pushNotifications, stateTransitionHistory: false },
    ...authentication,
    ...copied(card, ["defaultInputModes", "defaultOutputModes"]),
    skills: mapItems(card.skills, (skill) => copied(skill as CardJson, [...skillMembers, "inputModes", "outputModes"])),
  };
}

/** Lists all schemes of all alternatives, because 0.1 cannot express which of them belong together. */
function securityToV01({ securitySchemes, securityRequirements }: CardJson): CardJson | undefined {
  const needed = (Array.isArray(securityRequirements) ? securityRequirements : [])
    .filter(isJsonObject)
    .map(({ schemes }) => (isJsonObject(schemes) ? Object.keys(schemes) : []));
  if (needed.length === 0 || needed.some((names) => names.length === 0)) return {};
  const declared = isJsonObject(securitySchemes) ? securitySchemes : {};
  const converted = [...new Set(needed.flat())].flatMap((name) => schemeToV01(declared[name]) ?? []);
  if (converted.length === 0) return undefined;
  const hints = Object.assign({}, ...converted.map(({ hints }) => hints));
  return {
    authentication: {
      schemes: [...new Set(converted.map(({ name }) => name))],
      ...(Object.keys(hints).length > 0 && { credentials: JSON.stringify(hints) }),
    },
  };
}

interface SchemeOfV01 {
  readonly name: string;
  /** The public part of a scheme. */
  readonly hints: CardJson;
}

function schemeToV01(scheme: unknown): SchemeOfV01 | undefined {
  if (!isJsonObject(scheme)) return undefined;
  const { apiKeySecurityScheme: key, httpAuthSecurityScheme: http, oauth2SecurityScheme: oauth } = scheme;
  if (isJsonObject(key)) return { name: "ApiKey", hints: { in: key.location, name: key.name } };
  if (isJsonObject(http)) return { name: titled(String(http.scheme)), hints: {} };
  if (isJsonObject(scheme.openIdConnectSecurityScheme)) return { name: "Bearer", hints: {} };
  if (!isJsonObject(oauth)) return undefined;
  const flow = isJsonObject(oauth.flows) ? Object.values(oauth.flows).find(isJsonObject) : undefined;
  return { name: "OAuth2", hints: copied(flow ?? {}, ["authorizationUrl", "tokenUrl", "refreshUrl", "scopes"]) };
}

const titled = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).toLowerCase();

/** The cards of 0.1 that a server shows. */
export const cards: CardConversions = { convert: cardToV01 };
