import type { Call, CallerInput } from "../core/call.js";
import { aFunction, aText, expects, type OptionChecks, typeName } from "../core/options.js";
import { httpCredentials, isBearerToken } from "./credentials.js";
import { faultsOfSecrets, type KnownSecret, knownSecrets, listOfSecrets, ownerNames } from "./known-secrets.js";
import { MAX_CREDENTIAL_LENGTH, Refusal, type SecurityScheme } from "./scheme.js";

/** A token and its caller: the token itself, or its SHA-256 in hex. */
export interface BearerToken extends KnownSecret {
  readonly token?: string;
}

/** Options of `httpBearerScheme`: either `tokens` or `check`. */
export interface HttpBearerSchemeOptions {
  /** The tokens that are known. */
  readonly tokens?: readonly BearerToken[];
  /** Finds the caller of a token; undefined refuses it. Compare in constant time, or look up a digest of the token. */
  readonly check?: (token: string, call: Call) => CallerInput | undefined | Promise<CallerInput | undefined>;
  /** A hint at the form of the tokens, for the card. */
  readonly bearerFormat?: string;
  /** Realm of the challenge. Default: the name that the declaration gives the scheme. */
  readonly realm?: string;
  /** Description for people, on the card. */
  readonly description?: string;
}

/**
 * Security scheme: opaque tokens in `Authorization: Bearer` (RFC 6750, 2.1; specification 4.5.3). For JWT see `jwtScheme`.
 */
export function httpBearerScheme(options: HttpBearerSchemeOptions): SecurityScheme {
  const { tokens, check, bearerFormat, realm, description } = options;
  return {
    card: {
      httpAuthSecurityScheme: {
        scheme: "Bearer",
        ...(bearerFormat !== undefined && { bearerFormat }),
        ...(description !== undefined && { description }),
      },
    },
    challenge: { scheme: "Bearer", ...(realm !== undefined && { parameters: { realm } }) },
    ...ownerNames(tokens),
    faults: faultsOfSecrets(options, checks, "tokens"),
    open: () => {
      const find = check ?? knownSecrets(tokens ?? [], ({ token }) => token);
      return {
        check: (call) => {
          const token = httpCredentials(call, "bearer");
          if (token === undefined) return undefined;
          if (token === "" || token.length > MAX_CREDENTIAL_LENGTH) return invalidToken;
          return invalidToken.unless(find(token, call));
        },
      };
    },
  };
}

const invalidToken = new Refusal("The token is not accepted.");

const checks: OptionChecks<HttpBearerSchemeOptions> = {
  tokens: listOfSecrets("token", undefined, expects("a token of letters, digits and -._~+/", isBearerToken, typeName)),
  check: aFunction(),
  bearerFormat: aText(),
  realm: aText(),
  description: aText(),
};
