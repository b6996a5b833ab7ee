import { type AgentCard, AgentCardSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { utf8Of } from "../../core/bytes.js";
import { A2AError, type Violation } from "../../core/error.js";
import { loadCardConversion, loaded, olderVersions } from "../../version/client-versions.js";
import { PROTOCOL_VERSION } from "../../version/v1.js";
import { excessOfJson } from "../../wire/count-values.js";
import { jsonReader } from "../../wire/json-reader.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { setOwn } from "../../wire/json-value.js";

/** Members without which an agent cannot be called, or not securely. */
const essential = new Set(["supportedInterfaces", "capabilities", "securitySchemes", "securityRequirements"]);

/** Maximum number of violations in an error. */
const MAX_LISTED = 5;

/** Maximum number of values in a card. An empty value takes several hundred times its own bytes in memory. */
const MAX_VALUES = 50_000;

const read = jsonReader(AgentCardSchema);

/** A parsed card. */
interface ReadCard {
  readonly card: AgentCard;
  /** True if it has the form of a version before 1.0. */
  readonly isOlder: boolean;
  /** True if it names no version, so that its older version is a guess. */
  readonly isGuessed: boolean;
}

/**
 * Parses a card from JSON text of any producer. Unknown members are ignored, missing ones are empty, and malformed ones
 * are dropped unless calls depend on them.
 *
 * @param where origin of the card, for errors
 * @param version version of a card that names none, if its reader knows it
 * @throws A2AError VERSION_NOT_SUPPORTED for a card of a version that this client does not speak;
 * INVALID_AGENT_RESPONSE for anything that is not a card
 */
export async function readCard(text: string, where: string, version?: string): Promise<ReadCard> {
  checkValues(text, where);
  const json = parsedCard(text, where);
  const isOlder = !hasInterfaces(json);
  const isNameless = isOlder && (typeof json.protocolVersion !== "string" || json.protocolVersion.trim() === "");
  const isGuessed = isNameless && version === undefined;
  const named = isNameless && version !== undefined ? { protocolVersion: version } : {};
  const cardJson = isOlder ? await olderCardJson({ ...json, ...named }, where) : json;
  try {
    return { card: read(cardJson), isOlder, isGuessed };
  } catch (error) {
    if (!(error instanceof A2AError)) throw error;
    // Parsed again because reading may have modified the object.
    const again = parsedCard(text, where);
    const rest = isOlder ? await olderCardJson({ ...again, ...named }, where) : again;
    return { card: readRest(rest, error, where), isOlder, isGuessed };
  }
}

/** True for cards of 1.0. Cards for several versions also have the members of older ones. */
function hasInterfaces(json: Readonly<Record<string, unknown>>): boolean {
  const listed = [json.supportedInterfaces, json.supported_interfaces].find(Array.isArray);
  return listed !== undefined && (listed.length > 0 || typeof json.url !== "string");
}

async function olderCardJson(
  json: Readonly<Record<string, unknown>>,
  where: string,
): Promise<Readonly<Record<string, unknown>>> {
  const { olderCard } = await loaded(loadCardConversion());
  const card = olderCard(json);
  if (card === undefined) throw unknownCard(json, where);
  return card;
}

function readRest(json: Readonly<Record<string, unknown>>, error: A2AError, where: string): AgentCard {
  const broken = new Set(error.violations.map(violatedMember));
  const rest = Object.fromEntries(Object.entries(json).filter(([name]) => !broken.has(camelCase(name))));
  const needed = error.violations.filter((violation) => essential.has(violatedMember(violation)));
  if (needed.length > 0 || broken.has("")) throw malformed(where, needed.length > 0 ? needed : error.violations, error);
  try {
    return read(rest);
  } catch (cause) {
    throw malformed(where, cause instanceof A2AError ? cause.violations : [], cause);
  }
}

/** Returns the member of the card that a violation concerns. */
const violatedMember = ({ field }: Violation): string => camelCase(/^[^.[]*/.exec(field)?.[0] ?? "");

const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** Checks the size of a card before it is parsed. */
function checkValues(text: string, where: string): void {
  const excess = excessOfJson(utf8Of(text), MAX_VALUES);
  if (excess === undefined) return;
  const what = excess === "values" ? `has more than ${MAX_VALUES} values` : "nests too deep";
  throw notACard(where, what);
}

function parsedCard(text: string, where: string): Record<string, unknown> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw notACard(where, "is not JSON", cause);
  }
  if (!isJsonObject(json)) throw notACard(where, "is not a JSON object");
  mendSecurity(json);
  return json;
}

function notACard(where: string, what: string, cause?: unknown): A2AError {
  return new A2AError("INVALID_AGENT_RESPONSE", `${where} is not an agent card: it ${what}.`, { cause });
}

/** Returns the error for JSON that is not a card of any version; cards before 1.0 had one `url`. */
function unknownCard({ url, protocolVersion }: Readonly<Record<string, unknown>>, where: string): A2AError {
  const declared = typeof protocolVersion === "string" ? protocolVersion.slice(0, 32) : undefined;
  if (typeof url === "string") return versionNotSupported(where, declared ? [declared] : []);
  const what = declared === undefined ? "no supportedInterfaces" : "neither supportedInterfaces nor a url";
  return notACard(where, `has ${what}`);
}

/**
 * @param versions the agent's versions as its card names them; empty for one before cards named theirs
 * @param wanted the only version that the caller accepts; undefined for all
 */
export function versionNotSupported(where: string, versions: readonly string[], wanted?: string): A2AError {
  const shown = versions.length === 0 ? "a version of A2A before 1.0" : `A2A ${versions.join(", ")}`;
  const ours = [PROTOCOL_VERSION, ...olderVersions.map(({ name }) => name)].join(", ");
  const rest = wanted === undefined ? `; this client speaks ${ours}` : `, not ${wanted} (version)`;
  const message = `The agent of ${where.replace(/^The /, "the ")} speaks ${shown}${rest}.`;
  const metadata = {
    requestedVersion: wanted ?? PROTOCOL_VERSION,
    ...(versions.length > 0 ? { supportedVersions: versions.join(", ") } : {}),
  };
  return new A2AError("VERSION_NOT_SUPPORTED", message, { metadata });
}

function malformed(where: string, violations: readonly Violation[], cause: unknown): A2AError {
  const listed = violations.slice(0, MAX_LISTED).map(({ field, description }) => `${field} ${description}`);
  const message = `${where} is not a usable agent card: ${listed.join("; ")}.`;
  return new A2AError("INVALID_AGENT_RESPONSE", message, { violations, cause });
}

type RawCard = Record<string, unknown>;

/*
 * Security declarations in the forms of libraries that deviate from the contract's JSON. Without these conversions their
 * agents could not be called, or would be called without credentials. Other members are left unchanged.
 */

/** Converts security declarations to the JSON form of the contract. Modifies the card. */
export function mendSecurity(card: RawCard): void {
  const { securitySchemes, skills } = card;
  if (isJsonObject(securitySchemes)) card.securitySchemes = mapped(securitySchemes, mendScheme);
  mendRequirements(card);
  if (Array.isArray(skills)) for (const skill of skills) if (isJsonObject(skill)) mendRequirements(skill);
}

/** a2a-go 2.3 writes a scheme's scopes as a list, where the contract has an object with a list. */
function mendRequirements(holder: RawCard): void {
  const { securityRequirements } = holder;
  if (!Array.isArray(securityRequirements)) return;
  for (const each of securityRequirements) {
    if (!isJsonObject(each) || !isJsonObject(each.schemes)) continue;
    each.schemes = mapped(each.schemes, (scopes) => (Array.isArray(scopes) ? { list: scopes } : scopes));
  }
}

/** `@a2a-js/sdk` 1.3 writes its in-memory form: `{ "scheme": { "$case": "x", "value": … } }` for `{ "x": … }`. */
function mendScheme(json: unknown): unknown {
  const scheme = chosen(json, "scheme");
  if (!isJsonObject(scheme) || !isJsonObject(scheme.oauth2SecurityScheme)) return scheme;
  const oauth2 = scheme.oauth2SecurityScheme;
  return { ...scheme, oauth2SecurityScheme: { ...oauth2, flows: chosen(oauth2.flows, "flow") } };
}

function chosen(json: unknown, member: string): unknown {
  const choice = isJsonObject(json) ? json[member] : undefined;
  return isJsonObject(choice) && typeof choice.$case === "string" ? { [choice.$case]: choice.value } : json;
}

function mapped(json: RawCard, map: (value: unknown) => unknown): RawCard {
  const result: RawCard = {};
  for (const [name, value] of Object.entries(json)) setOwn(result, name, map(value));
  return result;
}
