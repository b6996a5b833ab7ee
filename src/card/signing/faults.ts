import { unknownNames } from "../../core/describe.js";
import { isJsonObject } from "../../wire/json-struct.js";
import { cardKeyFaults } from "./card-keys.js";
import { jkuFault } from "./key-sets.js";

const knownFields = ["keys", "jku", "jwks", "alsoWithoutEmpty"];

/** Faults of the option `cardSigning` that can be found without cryptography; each begins with its place. */
export function cardSigningFaults(place: string, given: unknown): string[] {
  if (!isJsonObject(given)) return [`${place} is not an object with keys`];
  const faults = [
    ...unknownNames(`${place}.`, Object.keys(given), knownFields),
    ...cardKeyFaults(`${place}.keys`, given.keys),
  ];
  const { jku, jwks = true, alsoWithoutEmpty = false } = given;
  const fault = jku === undefined || jku === false ? undefined : jkuFault(jku);
  if (fault !== undefined) faults.push(`${place}.jku ${fault}`);
  if (typeof jwks !== "boolean") faults.push(`${place}.jwks is neither true nor false`);
  if (typeof alsoWithoutEmpty !== "boolean") faults.push(`${place}.alsoWithoutEmpty is neither true nor false`);
  return faults;
}
