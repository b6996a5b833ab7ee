import { base64Of, utf8Of } from "../../core/bytes.js";
import type { Credential } from "./credential.js";
import { checkEncrypted, checkSwitch, type SentOptions } from "./secret.js";

/**
 * Credential: name and password for HTTP `Basic` (RFC 7617, in UTF-8; specification 4.5.3).
 *
 * @throws TypeError for a name with a colon, and for control characters, which cannot be sent.
 */
export function basic(name: string, password: string, options: SentOptions = {}): Credential {
  if (typeof name !== "string" || name.includes(":")) throw new TypeError("The name is not a text, or has a colon");
  if (typeof password !== "string") throw new TypeError("The password is not a text");
  const text = `${name}:${password}`;
  if (/\p{Cc}/u.test(text)) throw new TypeError("The name or the password has control characters");
  checkSwitch(options);
  const value = `Basic ${base64Of(utf8Of(text))}`;
  return {
    fits: ({ scheme }) => scheme.case === "httpAuthSecurityScheme" && scheme.value.scheme.toLowerCase() === "basic",
    apply: ({ header }, { url }) => {
      checkEncrypted(url, options);
      header.set("authorization", value);
    },
  };
}
