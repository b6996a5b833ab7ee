import type { Call, CallerInput } from "../core/call.js";
import { aFunction, aText, judged, type OptionChecks, oneOf } from "../core/options.js";
import { apiKeyOf, type KeyPlace } from "./credentials.js";
import { faultsOfSecrets, type KnownSecret, knownSecrets, listOfSecrets, ownerNames } from "./known-secrets.js";
import { MAX_CREDENTIAL_LENGTH, Refusal, type SecurityScheme } from "./scheme.js";

/** A key and its caller: the key itself, or its SHA-256 in hex. */
export interface ApiKey extends KnownSecret {
  /** The key. At least 128 random bits are advisable. */
  readonly key?: string;
}

/** Options of `apiKeyScheme`: either `keys` or `check`. */
export interface ApiKeySchemeOptions {
  /** Location of the key. Logs in transit show a query, and gRPC has none: prefer a header. */
  readonly in: KeyPlace["in"];
  /** Name of the header, query parameter or cookie. */
  readonly name: string;
  /** The keys that are known. */
  readonly keys?: readonly ApiKey[];
  /** Returns the caller of a key; undefined refuses it. Compare in constant time, or look up a digest of the key. */
  readonly check?: (key: string, call: Call) => CallerInput | undefined | Promise<CallerInput | undefined>;
  /** Description for people, on the card. */
  readonly description?: string;
}

/**
 * Security scheme: a key in a header, the query or a cookie (specification 4.5.2). Known keys are stored and compared
 * as keyed digests. `WWW-Authenticate` names it `ApiKey`, which is not a registered scheme.
 */
export function apiKeyScheme(options: ApiKeySchemeOptions): SecurityScheme {
  const { in: location, name, keys, check, description } = options;
  return {
    card: { apiKeySecurityScheme: { location, name, ...(description !== undefined && { description }) } },
    challenge: { scheme: "ApiKey", parameters: { in: location, name } },
    ...ownerNames(keys),
    faults: faultsOfSecrets(options, checks, "keys", ["in", "name"]),
    open: () => {
      const known = knownSecrets(keys ?? [], ({ key }) => key);
      const find = check ?? known;
      return {
        check: (call) => {
          const key = apiKeyOf(call, options);
          if (key === undefined) return undefined;
          if (key.length > MAX_CREDENTIAL_LENGTH) return invalidKey;
          return invalidKey.unless(find(key, call));
        },
      };
    },
  };
}

const invalidKey = new Refusal("The API key is not accepted.");

// A header's name and a cookie's are tokens (RFC 9110, 5.1; RFC 6265, 4.1.1).
const isName = (name: unknown): boolean => typeof name === "string" && /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);

const checks: OptionChecks<ApiKeySchemeOptions> = {
  in: oneOf(["header", "query", "cookie"]),
  name: judged((name) => (isName(name) ? undefined : "is not a valid name")),
  keys: listOfSecrets("key"),
  check: aFunction(),
  description: aText(),
};
