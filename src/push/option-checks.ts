import { isIP } from "node:net";
import { unknownNames } from "../core/describe.js";
import { keyBytes } from "./encryption-key.js";
import { type PushOptions, pushEvents } from "./options.js";
import { pushSigningFaults } from "./signature/faults.js";

// Servers without push notifications load this file, so it must not import the code that sends them.

/** Maximum number of encryption keys of a server. */
const MAX_KEYS = 16;

/** Checks of each push option. A missing field does not compile. */
const checks: { readonly [K in keyof PushOptions]-?: (place: string, value: unknown) => readonly string[] } = {
  events: listed((event) => (isEvent(event) ? undefined : `is none of ${pushEvents.join(", ")}`)),
  allowHttp: (place, value) => (typeof value === "boolean" ? [] : [`${place} is ${shown(value)}, not true or false`]),
  ports: listed((port) => (isPort(port) ? undefined : "is not a port from 1 to 65535")),
  allow: listed(hostFault, true),
  deny: listed(hostFault, true),
  // The server checks its content, as for its own TLS.
  tls: (place, value) => nestedFaults(place, value, ["ca", "cert", "key"]),
  lookup: (place, value) =>
    typeof value === "function" || value === "dns" ? [] : [`${place} is ${shown(value)}, not a function or "dns"`],
  signing: pushSigningFaults,
  encryptionKeys: keyFaults,
};

/** Faults of the option `push`, as sentences that begin with its name. They contain no keys and no secrets. */
export function pushFaults(name: string, value: unknown): readonly string[] {
  if (typeof value === "boolean") return [];
  if (!isObject(value)) return [`${name} is ${shown(value)}, not true, false or an object of options`];
  const faults = unknownNames(`${name}.`, Object.keys(value), Object.keys(checks));
  for (const [option, given] of Object.entries(value)) {
    if (given === undefined || !Object.hasOwn(checks, option)) continue;
    faults.push(...checks[option as keyof PushOptions](`${name}.${option}`, given));
  }
  return faults;
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const shown = (value: unknown): string => (typeof value === "string" ? JSON.stringify(value) : String(value));

const isEvent = (value: unknown): boolean => pushEvents.some((event) => event === value);

const isPort = (value: unknown): boolean =>
  typeof value === "number" && Number.isInteger(value) && value > 0 && value < 65_536;

/** A check of a list by a check of its elements, which returns the fault of an element. */
function listed(
  faultOf: (element: unknown) => string | undefined,
  mayBeEmpty = false,
): (place: string, value: unknown) => readonly string[] {
  return (place, value) => {
    if (!Array.isArray(value)) return [`${place} is ${shown(value)}, not a list`];
    if (value.length === 0 && !mayBeEmpty) return [`${place} is empty`];
    return value.flatMap((element) => {
      const fault = faultOf(element);
      return fault === undefined ? [] : [`${place}: ${shown(element)} ${fault}`];
    });
  };
}

function hostFault(host: unknown): string | undefined {
  if (typeof host === "string" && (isName(host) || isNetwork(host))) return undefined;
  return "is not a name, an address or a network";
}

/** True for a name, or `*.` and a name. Other programs would read a name of digits alone as an address. */
function isName(host: string): boolean {
  const labels = host.replace(/^\*\./, "").toLowerCase().split(".");
  return (
    labels.every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label)) &&
    !/^\d+$/.test(labels.at(-1) ?? "")
  );
}

function isNetwork(host: string): boolean {
  const [address = "", bits, ...more] = host.split("/");
  const version = isIP(address);
  // A zone exists on one machine only, for one of its interfaces.
  if (version === 0 || host.includes("%") || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

function nestedFaults(place: string, value: unknown, known: readonly string[]): string[] {
  if (!isObject(value)) return [`${place} must be an object of options`];
  return unknownNames(`${place}.`, Object.keys(value), known);
}

function keyFaults(place: string, value: unknown): string[] {
  if (!Array.isArray(value)) return [`${place} must be a list of keys`];
  if (value.length === 0) return [`${place} is empty: leave it out to store secrets as they are`];
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
