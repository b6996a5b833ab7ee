/** Path of the card below the root of a host, or below `/{tenant}` (specification 8.2, RFC 8615). */
export const WELL_KNOWN_PATH = "/.well-known/agent-card.json";

/**
 * Identifier of the Connect binding in a card. The specification names three bindings. Any other is identified by a
 * URI, and a breaking change gets a new URI (specification 5.8, 12.7).
 */
export const CONNECT_BINDING = "urn:parley:binding:connect:v1";
