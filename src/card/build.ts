import { clone, create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import {
  type AgentCapabilities,
  AgentCapabilitiesSchema,
  type AgentCard,
  AgentCardSchema,
  AgentExtensionSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.js";
import type { AgentCardInput } from "../agent/card-input.js";
import { ConfigurationError } from "./faults.js";
import { readInput } from "./input.js";
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

/** A card with everything that is wrong with it. */
export interface CheckedCard {
  readonly card: AgentCard;
  /** Empty when the card may be served. */
  readonly faults: readonly string[];
}

/**
 * Returns the card of an agent with default modes and the capabilities of the server. An author may switch a capability
 * off, but cannot claim one that is not there (specification 4.4.3, 3.3.4). The author's own `supportedInterfaces` stay
 * in it; `withInterfaces` puts the server's before them.
 *
 * @throws ConfigurationError that names every fault.
 */
export function buildCard(input: AgentCardInput, wired: ServerCapabilities): AgentCard {
  const { card, faults } = checkCard(input, wired);
  if (faults.length > 0) throw new ConfigurationError("The agent card is invalid", faults);
  return card;
}

/** As `buildCard`, with the faults as a value, so that those of several cards can be reported together. */
export function checkCard(input: AgentCardInput, wired: ServerCapabilities): CheckedCard {
  let card: AgentCard;
  const typos: string[] = [];
  try {
    const read = readInput(AgentCardSchema, input, typos) as MessageInitShape<typeof AgentCardSchema>;
    // Cloned, because parts of the input may be messages that the author goes on using.
    card = clone(AgentCardSchema, create(AgentCardSchema, read));
    toBinary(AgentCardSchema, card);
  } catch (error) {
    // Only an author without a type checker comes here, with a number for a name or a text for a list.
    const why = error instanceof Error ? error.message : String(error);
    return { card: create(AgentCardSchema), faults: [`the card has not the form of an AgentCard (${why})`] };
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

// The extended card alone may be declared without being there: the specification has an error for it (3.3.4), and a
// server may get it later.
function fill(capabilities: AgentCapabilities, wired: ServerCapabilities): void {
  capabilities.streaming ??= true;
  capabilities.pushNotifications ??= wired.pushNotifications;
  capabilities.extendedAgentCard ??= wired.extendedAgentCard;
  const declared = new Set(capabilities.extensions.map((extension) => extension.uri));
  for (const extension of wired.extensions) {
    if (!declared.has(extension.uri ?? "")) capabilities.extensions.push(create(AgentExtensionSchema, extension));
  }
}
