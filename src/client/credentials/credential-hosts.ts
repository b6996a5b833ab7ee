import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { hostOf, webUrl } from "../hosts.js";
import { placeOf } from "./api-key.js";

/** A card, and where it came from. */
export interface CardOrigin {
  readonly card: AgentCard;
  /** The URL that the caller gave, before redirects; undefined for a card that the caller gave itself. */
  readonly asked: string | undefined;
  /** The caller's `verify` has accepted a signature of the card. */
  readonly isVerified: boolean;
}

/** Headers that carry credentials, whatever a card says. */
const secretHeaders: readonly string[] = ["authorization", "cookie", "proxy-authorization"];

/**
 * Hosts that a caller's credentials may go to. A card may name interfaces anywhere, and with them whom the credentials are sent to: so
 * they go to the host that the caller asked for the card, to the hosts that the caller allows, and elsewhere only if the card has a
 * trusted signature. A card that was given, and not fetched, is the caller's own word, unless the caller names hosts; what an extended card
 * adds to it is not.
 */
export class CredentialHosts {
  readonly #from: string;
  /** Undefined: all hosts. */
  readonly #hosts: ReadonlySet<string | undefined> | undefined;

  constructor({ card, asked, isVerified }: CardOrigin, allowed: readonly string[] | undefined) {
    const own = asked === undefined ? undefined : hostOf(asked);
    this.#from = own === undefined ? "The agent's card" : `The agent's card of ${own}`;
    if (isVerified) return;
    const ofCard =
      own === undefined && allowed === undefined
        ? card.supportedInterfaces.map(({ url }) => hostOf(webUrl(url)))
        : [own];
    this.#hosts = new Set([...ofCard, ...(allowed ?? []).map((host) => hostOf(`https://${host}`))]);
  }

  /** Whether credentials may go to a URL. */
  has(url: string): boolean {
    const host = hostOf(url);
    return this.#hosts === undefined || (host !== undefined && this.#hosts.has(host));
  }

  /** The error for a call that would show credentials to another host. */
  refusal(url: string): A2AError {
    const host = hostOf(url) ?? "another host";
    const message =
      `${this.#from} has an interface on ${host}, and credentials are not sent to hosts that a card alone names: ` +
      `allow the host (credentialHosts: ["${host}"]), or verify the card's signature (card.verify).`;
    return new A2AError("UNAUTHENTICATED", message, { metadata: { untrustedHost: host } });
  }
}

/** Whether the headers of a call have credentials that its caller, or an interceptor, has put there. */
export function hasCredentials(header: Headers, card: AgentCard): boolean {
  if (secretHeaders.some((name) => header.has(name))) return true;
  return Object.values(card.securitySchemes).some((scheme) => {
    const place = placeOf(scheme);
    return place?.location === "header" && header.has(place.name);
  });
}
