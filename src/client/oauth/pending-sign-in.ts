import { type SecurityScheme, SecuritySchemeSchema } from "../../../gen/lf/a2a/v1/a2a_pb.js";
import { answerReader } from "../../wire/json-reader.js";
import { jsonWriter } from "../../wire/json-writer.js";
import { isTexts, jsonOf } from "./tokens.js";

/** A sign-in whose user is not back yet. */
export interface PendingSignIn {
  /** Under what its tokens will be kept. */
  readonly key: string;
  /** Of the card: it says who the issuer is. */
  readonly scheme: SecurityScheme;
  readonly scopes: readonly string[];
  readonly redirectUri: string;
  /** Of PKCE. */
  readonly verifier: string;
  readonly nonce: string | undefined;
  /** When it began, in milliseconds since 1970. */
  readonly at: number;
}

/** For a storage. */
export function writePending({ scheme, ...pending }: PendingSignIn): string {
  return JSON.stringify({ ...pending, scheme: JSON.parse(jsonWriter(SecuritySchemeSchema)(scheme)) });
}

/** Undefined for what is none. */
export function readPending(text: string | null | undefined): PendingSignIn | undefined {
  const { key, scopes, redirectUri, verifier, nonce, at, scheme } = jsonOf(text) ?? {};
  const isWhole = typeof key === "string" && typeof verifier === "string" && typeof at === "number" && isTexts(scopes);
  if (!isWhole || typeof redirectUri !== "string" || !URL.canParse(redirectUri)) return undefined;
  try {
    const read = answerReader(SecuritySchemeSchema)(scheme);
    return {
      key,
      scopes,
      redirectUri,
      verifier,
      nonce: typeof nonce === "string" ? nonce : undefined,
      at,
      scheme: read,
    };
  } catch {
    return undefined;
  }
}
