import type { AgentCard } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { A2AError } from "../../core/error.js";
import { comparableHost, webUrl } from "../hosts.js";
import { placeOf } from "./api-key.js";

/** A card and its origin. */
export interface CardOrigin {
  readonly card: AgentCard;
  /** The URL that the caller gave, before redirects; undefined if the caller gave the card itself. */
  readonly asked: string | undefined;
  /** True if the caller's `verify` accepted a signature of the card. */
  readonly isVerified: boolean;
}

/** Headers that always carry credentials. */
const secretHeaders: readonly string[] = ["authorization", "cookie", "proxy-authorization"];

/**
 * Hosts that may receive a caller's credentials. A card may name interfaces on any host, and so choose the receiver.
 * Credentials therefore go to the host that the card was requested from and to hosts that the caller allows, and
 * elsewhere only if the card has a trusted signature. A card given by the caller is trusted like the caller, unless the
 * caller lists hosts. Additions of an extended card are not.
 */
export class CredentialHosts {
  readonly #from: string;
  /** Undefined for all hosts. */
  readonly #hosts: ReadonlySet<string | undefined> | undefined;

  constructor({ card, asked, isVerified }: CardOrigin, allowed: readonly string[] | undefined) {
    const own = asked === undefined ? undefined : comparableHost(asked);
    this.#from = own === undefined ? "The agent's card" : `The agent's card of ${own}`;
    if (isVerified) return;
    const ofCard =
      own === undefined && allowed === undefined
        ? card.supportedInterfaces.map(({ url }) => comparableHost(webUrl(url)))
        : [own];
    this.#hosts = new Set([...ofCard, ...(allowed ?? []).map((host) => comparableHost(`https://${host}`))]);
  }

  /** True if credentials may go to a URL. */
  has(url: string): boolean {
    const host = comparableHost(url);
    return this.#hosts === undefined || (host !== undefined && this.#hosts.has(host));
  }

  /** Returns the error for a call that would send credentials to another host. */
  refusal(url: string): A2AError {
    const host = comparableHost(url) ?? "another host";
    const message =
      `${this.#from} has an interface on ${host}, and credentials are not sent to hosts that only a card names: ` +
      `allow the host (credentialHosts: ["${host}"]), or verify the card's signature (card.verify).`;
    return new A2AError("UNAUTHENTICATED", message, { metadata: { untrustedHost: host } });
  }
}

/** True if a call's headers contain credentials set by its caller or an interceptor. */
export function hasCredentials(header: Headers, card: AgentCard): boolean {
  if (secretHeaders.some((name) => header.has(name))) return true;
  return Object.values(card.securitySchemes).some((scheme) => {
    const place = placeOf(scheme);
    return place?.location === "header" && header.has(place.name);
  });
}
