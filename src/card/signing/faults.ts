import { aBoolean, anObjectOf, judged, type OptionCheck, unless } from "../../core/options.js";
import { cardKeyFaults } from "./card-keys.js";
import { jkuFault } from "./key-sets.js";

/** Checks the option `cardSigning`, without cryptography. */
export const cardSigningFaults: OptionCheck = anObjectOf(
  {
    keys: cardKeyFaults,
    jku: unless((jku) => jku === false, judged(jkuFault)),
    jwks: aBoolean(),
    alsoWithoutEmpty: aBoolean(),
  },
  ["keys"],
);
