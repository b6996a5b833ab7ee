import { isIP } from "node:net";
import { isDnsName, withoutWildcard } from "../core/net.js";
import * as check from "../core/options.js";
import { keyBytes } from "./encryption-key.js";
import { type PushOptions, pushEvents } from "./options.js";
import { pushSigningFaults } from "./signature/faults.js";

// Servers without push notifications load this file, so it must not import the code that sends them.

/** Maximum number of encryption keys of a server. */
const MAX_KEYS = 16;

const hosts = check.listOf(
  check.aText("a name, an address or a network", (host) => isDnsName(withoutWildcard(host)) || isNetwork(host)),
  true,
);

const checks: check.OptionChecks<PushOptions> = {
  events: check.listOf(check.oneOf(pushEvents)),
  allowHttp: check.aBoolean(),
  ports: check.listOf(check.aWholeNumber(1, 65_535)),
  allow: hosts,
  deny: hosts,
  // The server checks its content, as for its own TLS.
  tls: check.anObjectOf({ ca: check.anything(), cert: check.anything(), key: check.anything() }),
  lookup: check.expects('a function or "dns"', (value) => typeof value === "function" || value === "dns"),
  signing: pushSigningFaults,
  encryptionKeys: keyFaults,
};

/** Checks the option `push`. No fault contains a key or a secret. */
export const pushFaults: check.OptionCheck = check.unless(
  (value) => typeof value === "boolean",
  check.anObjectOf(checks, [], "true, false or an object of options"),
);

function isNetwork(host: string): boolean {
  const [address = "", bits, ...more] = host.split("/");
  const version = isIP(address);
  // A zone exists on one machine only, for one of its interfaces.
  if (version === 0 || host.includes("%") || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

function keyFaults(place: string, value: unknown): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) return check.listOf(check.anything())(place, value);
  if (value.length > MAX_KEYS) return [`${place} has more than ${MAX_KEYS} keys`];
  const seen = new Set<string>();
  return value.flatMap((each, i) => {
    const bytes = keyBytes(each);
    if (bytes === undefined) return [`${place}[${i}] is not a key of 32 bytes: bytes, or base64 or hexadecimal text`];
    const hex = Buffer.from(bytes).toString("hex");
    if (seen.has(hex)) return [`${place}[${i}] is there twice`];
    seen.add(hex);
    return [];
  });
}
