/** Path of the card below the root of a host, or below `/{tenant}` (specification 8.2, RFC 8615). */
export const WELL_KNOWN_PATH = "/.well-known/agent-card.json";

/** Path of the card for clients of the protocol before 0.3. */
export const EARLIER_WELL_KNOWN_PATH = "/.well-known/agent.json";

/**
 * Identifier of the Connect binding in a card. The specification names three bindings. Any other is identified by a
 * URI, and a breaking change gets a new URI (specification 5.8, 12.7).
 */
export const CONNECT_BINDING = "urn:parley:binding:connect:v1";
