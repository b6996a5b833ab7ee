import {
  clone,
  create,
  type DescField,
  type DescMessage,
  isMessage,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import {
  type AgentCapabilities,
  AgentCapabilitiesSchema,
  type AgentCard,
  AgentCardSchema,
  AgentExtensionSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentCardInput } from "../agent/agent.js";
import { membersOf, messageIn } from "../core/members.js";
import { unknownNames } from "../core/options.js";
import { ConfigurationError } from "./faults.js";
import { missingFields } from "./required.js";
import { valueFaults } from "./rules.js";

/** Optional parts of the protocol that the server supports. */
export interface ServerCapabilities {
  readonly pushNotifications: boolean;
  /** The agent has an extended card. */
  readonly extendedAgentCard: boolean;
  /** Extensions that the server itself brings. */
  readonly extensions: readonly MessageInitShape<typeof AgentExtensionSchema>[];
}

/** A card with its faults. */
interface CheckedCard {
  readonly card: AgentCard;
  /** Empty when the card may be served. */
  readonly faults: readonly string[];
}

/**
 * Returns the card of an agent with default modes and the capabilities of the server. An author may disable a
 * capability, but cannot claim a missing one (specification 4.4.3, 3.3.4). The author's `supportedInterfaces` are kept;
 * `withInterfaces` puts the server's before them.
 *
 * @throws ConfigurationError that names every fault.
 */
export function buildCard(input: AgentCardInput, wired: ServerCapabilities): AgentCard {
  const { card, faults } = checkCard(input, wired);
  if (faults.length > 0) throw new ConfigurationError("The agent card is invalid", faults);
  return card;
}

/** Does the same as `buildCard`, but returns the faults, so that those of several cards can be reported together. */
export function checkCard(input: AgentCardInput, wired: ServerCapabilities): CheckedCard {
  let card: AgentCard;
  const typos: string[] = [];
  try {
    const read = readInput(AgentCardSchema, input, typos) as MessageInitShape<typeof AgentCardSchema>;
    // Cloned, because parts of the input may be messages that the author continues to use.
    card = clone(AgentCardSchema, create(AgentCardSchema, read));
    toBinary(AgentCardSchema, card);
  } catch (error) {
    // Only possible without a type checker, such as a number as a name or a string as a list.
    const why = messageIn(error);
    return { card: create(AgentCardSchema), faults: [`the card is not a valid AgentCard (${why})`] };
  }
  if (card.defaultInputModes.length === 0) card.defaultInputModes = ["text/plain"];
  if (card.defaultOutputModes.length === 0) card.defaultOutputModes = ["text/plain"];
  const capabilities = card.capabilities ?? create(AgentCapabilitiesSchema);
  card.capabilities = capabilities;
  const faults = claimFaults(capabilities, wired);
  fill(capabilities, wired);
  return {
    card,
    faults: [...typos, ...missingFields(reflect(AgentCardSchema, card)), ...valueFaults(card), ...faults],
  };
}

function claimFaults(claimed: AgentCapabilities, wired: ServerCapabilities): string[] {
  return claimed.pushNotifications === true && !wired.pushNotifications
    ? [
        "capabilities.pushNotifications is true, but none are sent: they need the option push, and an agent that makes tasks",
      ]
    : [];
}

// An author may declare only the extended card without providing it: the specification has an error for that case
// (3.3.4), and a server may provide it later.
function fill(capabilities: AgentCapabilities, wired: ServerCapabilities): void {
  capabilities.streaming ??= true;
  capabilities.pushNotifications ??= wired.pushNotifications;
  capabilities.extendedAgentCard ??= wired.extendedAgentCard;
  const declared = new Set(capabilities.extensions.map((extension) => extension.uri));
  for (const extension of wired.extensions) {
    if (!declared.has(extension.uri ?? "")) capabilities.extensions.push(create(AgentExtensionSchema, extension));
  }
}

/**
 * Converts an author's card to the shape of protobuf objects. A member of a one-of may be written as in the
 * specification's JSON: `{ httpAuthSecurityScheme: { scheme: "bearer" } }`. Unknown fields are added to `faults`, as
 * sentences that begin with their place.
 */
function readInput(desc: DescMessage, input: unknown, faults: string[], place = ""): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input) || isMessage(input)) return input;
  // Free values of the author, such as the parameters of an extension.
  if (desc.typeName.startsWith("google.protobuf.")) return input;
  const read: Record<string, unknown> = {};
  const unknown: string[] = [];
  // The name that each one-of was written under.
  const written = new Map<string, string>();
  for (const [name, value] of Object.entries(input)) {
    const at = place === "" ? name : `${place}.${name}`;
    const field = desc.fields.find(({ localName }) => localName === name);
    const oneof = desc.oneofs.find(({ localName }) => localName === name);
    const group = (oneof ?? field?.oneof)?.localName;
    if (group !== undefined) {
      // Absent and undefined are the same here.
      if (value === undefined) continue;
      const other = written.get(group);
      if (other !== undefined) faults.push(`${place} has ${other} and ${name}: give one of them`);
      written.set(group, name);
    }
    if (oneof !== undefined) read[name] = readMember(desc, value, faults, place);
    else if (field?.oneof !== undefined) {
      read[field.oneof.localName] = { case: name, value: readField(field, value, faults, at) };
    } else if (field !== undefined) read[name] = readField(field, value, faults, at);
    else if (!name.startsWith("$")) unknown.push(name);
  }
  const known = desc.fields.map(({ localName }) => localName);
  faults.push(...unknownNames(place === "" ? "" : `${place}.`, unknown, known));
  return read;
}

/** A one-of as protobuf's objects have it: `{ case, value }`. */
function readMember(desc: DescMessage, given: unknown, faults: string[], place: string): unknown {
  const { case: name, value } = membersOf(given);
  const field = desc.fields.find(({ localName }) => localName === name);
  if (field === undefined) return given;
  return { case: name, value: readField(field, value, faults, `${place}.${field.localName}`) };
}

function readField(field: DescField, value: unknown, faults: string[], at: string): unknown {
  const { message } = field;
  if (message === undefined || typeof value !== "object" || value === null) return value;
  if (field.fieldKind === "list") {
    if (!Array.isArray(value)) return value;
    return value.map((each, i) => readInput(message, each, faults, `${at}[${i}]`));
  }
  if (field.fieldKind === "map") {
    const entries = Object.entries(value).map(([key, each]) => [key, readInput(message, each, faults, `${at}.${key}`)]);
    return Object.fromEntries(entries);
  }
  return readInput(message, value, faults, at);
}
