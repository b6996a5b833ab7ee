import type { APIKeySecurityScheme, SecurityScheme } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { isTransportHeader } from "../../core/net.js";
import type { Credential, CredentialContext, CredentialTarget } from "./credential.js";
import { checkForm, headerForm, type Secret, type SentOptions, secretCredential } from "./secret.js";

/** RFC 6265, 4.1.1. */
const cookieForm = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/;
/** Characters that a query can carry; headers and cookies can carry fewer. */
const keyForm = /^\P{Cc}+$/u;
/** Names of headers and cookies (RFC 9110, 5.6.2). */
const nameForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Credential: a key, sent in the header, query or cookie that the card names (specification 4.5.2). Browsers send no
 * cookies set by a page's own request headers, and gRPC has no query.
 *
 * @throws TypeError for a key that cannot be sent.
 */
export function apiKey(key: Secret, options: SentOptions = {}): Credential {
  const fits = (scheme: SecurityScheme): boolean => placeOf(scheme) !== undefined;
  return secretCredential(key, { name: "The key", form: keyForm, fits, put: putKey }, options);
}

function putKey(target: CredentialTarget, key: string, { scheme }: CredentialContext): void {
  const { location = "", name = "" } = placeOf(scheme) ?? {};
  if (location === "query") return target.addQuery(name, key);
  checkForm(key, location === "cookie" ? cookieForm : headerForm);
  if (location === "header") return target.header.set(name, key);
  const others = target.header.get("cookie");
  target.header.set("cookie", others === null ? `${name}=${key}` : `${others}; ${name}=${key}`);
}

/** Returns the place of a card's API key, or undefined for one that cannot carry a key. */
export function placeOf({ scheme }: SecurityScheme): Pick<APIKeySecurityScheme, "location" | "name"> | undefined {
  if (scheme.case !== "apiKeySecurityScheme") return undefined;
  const { name } = scheme.value;
  const location = scheme.value.location.toLowerCase();
  if (location === "query") return name === "" ? undefined : { location, name };
  if (!nameForm.test(name)) return undefined;
  if (location === "cookie") return { location, name };
  // A header of the connection itself is excluded, since a key there would break the connection.
  return location === "header" && !isTransportHeader(name) ? { location, name: name.toLowerCase() } : undefined;
}
