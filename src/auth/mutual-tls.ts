import { notPromised } from "../core/async.js";
import type { CallerInput, ClientCertificate } from "../core/call.js";
import { aFunction, aText, type OptionChecks, optionFaults } from "../core/options.js";
import { type CallerNames, Refusal, type SecurityScheme } from "./scheme.js";

/** Options of `mutualTlsScheme`. */
export interface MutualTlsSchemeOptions {
  /** Returns the owner of the caller's tasks from its certificate; undefined rejects it. Default: the subject. */
  readonly owner?: (certificate: ClientCertificate) => string | undefined;
  /** The caller's scopes. Default: none. */
  readonly scopes?: (certificate: ClientCertificate) => readonly string[];
  /** Description for people, on the card. */
  readonly description?: string;
}

const checks: OptionChecks<MutualTlsSchemeOptions> = {
  owner: aFunction(),
  scopes: aFunction(),
  description: aText(),
};

/** Subjects are lists of attributes, such as CN=nightly. */
const subjects: CallerNames = {
  issuer: "an authority of tls.ca",
  mayGive: (name) => name.includes("="),
};

/**
 * Security scheme: a client certificate of one of the server's authorities (`tls.ca`), on both ports (specification
 * 4.5.6). The caller's `claims.certificate` has subject, names and fingerprint. Not available through a trusted proxy,
 * whose certificate is not the client's. A challenge for it is not registered: `WWW-Authenticate` names it `MutualTLS`.
 */
export function mutualTlsScheme(options: MutualTlsSchemeOptions = {}): SecurityScheme {
  const { owner, scopes, description } = options;
  return {
    card: { mtlsSecurityScheme: { ...(description !== undefined && { description }) } },
    challenge: { scheme: "MutualTLS" },
    ...(owner === undefined && { names: subjects }),
    faults: optionFaults(options, checks),
    open: () => {
      const callerOf = (certificate: ClientCertificate): CallerInput | undefined => {
        const name = owner === undefined ? certificate.subject : notPromised(owner(certificate));
        if (typeof name !== "string" || name === "") return undefined;
        const granted = scopes === undefined ? [] : (notPromised(scopes(certificate)) as readonly string[]);
        return { owner: name, authenticated: true, scopes: granted, claims: { certificate } };
      };
      return {
        check: ({ peer: { certificate } }) =>
          certificate && (callerOf(certificate) ?? new Refusal("The certificate is not accepted.")),
        // TLS has verified it, so it cannot be a guess.
        recall: ({ peer: { certificate } }) => certificate && callerOf(certificate),
      };
    },
  };
}
