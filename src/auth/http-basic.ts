import type { Call, CallerInput } from "../core/call.js";
import { aFunction, aText, type OptionChecks } from "../core/options.js";
import { httpCredentials, nameAndPassword } from "./credentials.js";
import { faultsOfSecrets, type KnownSecret, knownSecrets, listOfSecrets, ownerNames } from "./known-secrets.js";
import { MAX_CREDENTIAL_LENGTH, Refusal, type SecurityScheme } from "./scheme.js";

/** A user and its caller; `sha256` is that of `name:password`. Left out, `owner` is the name. */
export interface BasicUser extends Omit<KnownSecret, "owner"> {
  readonly name: string;
  readonly password?: string;
  /** Owner of the user's tasks. Default: the name. */
  readonly owner?: string;
}

/** Options of `httpBasicScheme`: either `users` or `check`. */
export interface HttpBasicSchemeOptions {
  /** The users that are known. */
  readonly users?: readonly BasicUser[];
  /** Finds the caller of a name and a password; undefined refuses them. Compare in constant time. */
  readonly check?: (
    name: string,
    password: string,
    call: Call,
  ) => CallerInput | undefined | Promise<CallerInput | undefined>;
  /** Realm of the challenge. Default: the name that the declaration gives the scheme. */
  readonly realm?: string;
  /** Description for people, on the card. */
  readonly description?: string;
}

/** Security scheme: name and password (RFC 7617, in UTF-8; specification 4.5.3). Use it over TLS alone. */
export function httpBasicScheme(options: HttpBasicSchemeOptions): SecurityScheme {
  const { check, realm, description } = options;
  return {
    card: { httpAuthSecurityScheme: { scheme: "Basic", ...(description !== undefined && { description }) } },
    challenge: { scheme: "Basic", parameters: { ...(realm !== undefined && { realm }), charset: "UTF-8" } },
    ...ownerNames(ownedUsers(options)),
    faults: faultsOfSecrets(options, checks, "users"),
    open: () => {
      const known = knownSecrets(ownedUsers(options), ({ name, password }) => password && `${name}:${password}`);
      const find = check ?? ((name: string, password: string) => known(`${name}:${password}`));
      return {
        check: (call) => {
          const credentials = httpCredentials(call, "basic");
          if (credentials === undefined) return undefined;
          const given = credentials.length > MAX_CREDENTIAL_LENGTH ? undefined : nameAndPassword(credentials);
          if (given === undefined) return invalidPassword;
          return invalidPassword.unless(find(given.name, given.password, call));
        },
      };
    },
  };
}

function ownedUsers({ users }: HttpBasicSchemeOptions): (BasicUser & { readonly owner: string })[] {
  if (!Array.isArray(users)) return [];
  return users.map((user) => ({ ...user, owner: user?.owner ?? user?.name }));
}

const invalidPassword = new Refusal("Name or password is not accepted.");

const checks: OptionChecks<HttpBasicSchemeOptions> = {
  // RFC 7617, 2: a name with a colon cannot be sent.
  users: listOfSecrets("password", { name: aText("a non-empty text without a colon", (name) => /^[^:]+$/.test(name)) }),
  check: aFunction(),
  realm: aText(),
  description: aText(),
};
