import { initiateDeviceAuthorization, pollDeviceAuthorizationGrant } from "openid-client";
import { A2AError } from "../../core/error.js";
import type { Credential } from "../credentials/credential.js";
import { flowCredential } from "./flow-credential.js";
import type { OAuthOptions } from "./options.js";
import { TokenKeeper } from "./token-keeper.js";

/** Values to show to the user. */
export interface DevicePrompt {
  /** The code to type in. */
  readonly userCode: string;
  /** The page to type it in. */
  readonly verificationUri: string;
  /** The page with the code in it, for a link or a QR code; not every issuer has one. */
  readonly verificationUriComplete: string | undefined;
  /** After so long the code is good no more, in milliseconds. */
  readonly expiresInMs: number;
}

/** Options of `deviceCode`. */
export interface DeviceCodeOptions extends OAuthOptions {
  /** Shows the user where to agree. The call waits until that is done, refused, or too late. */
  readonly prompt: (prompt: DevicePrompt) => void | Promise<void>;
}

/** Codes last so long at most, in seconds, whatever an issuer says. */
const MAX_SECONDS = 3_600;

/**
 * OAuth 2.0 for a user who confirms on another device, such as for a command line (RFC 8628; specification 4.5.10).
 * Calls that need a token wait for the user; where all of them are given up nothing is asked any more. Ask for
 * `offline_access` in `scopes`, as most issuers call it, to get a refresh token.
 *
 * @throws TypeError for options that cannot work.
 */
export function deviceCode(options: DeviceCodeOptions): Credential {
  const { prompt } = options;
  if (typeof prompt !== "function") throw new TypeError("prompt is no function");
  const keeper = new TokenKeeper(options, {
    name: "deviceCode",
    isUnattended: false,
    async obtain({ issuer: { config }, parameters, signal }) {
      const begun = await initiateDeviceAuthorization(config, parameters);
      // An issuer that wants to be asked all the time is mistaken.
      const grant = { ...begun, ...(begun.interval !== undefined && { interval: Math.max(1, begun.interval) }) };
      const seconds = Math.min(begun.expires_in, MAX_SECONDS);
      const { verification_uri: verificationUri, verification_uri_complete: verificationUriComplete } = begun;
      await prompt({
        userCode: shown(begun.user_code),
        verificationUri: page(verificationUri),
        verificationUriComplete: verificationUriComplete === undefined ? undefined : page(verificationUriComplete),
        expiresInMs: seconds * 1_000,
      });
      const late = AbortSignal.timeout(seconds * 1_000);
      const { audience, resource } = options;
      const again = { ...(resource !== undefined && { resource }), ...(audience !== undefined && { audience }) };
      try {
        return await pollDeviceAuthorizationGrant(config, grant, again, { signal: AbortSignal.any([signal, late]) });
      } catch (error) {
        if (!late.aborted) throw error;
        throw new A2AError("UNAUTHENTICATED", "The user did not agree in time.");
      }
    },
  });
  return flowCredential(keeper, "deviceCode", options);
}

/** What a terminal shows, and does not obey. */
const shown = (text: string): string => text.slice(0, 200).replace(/[^\x20-\x7e]/g, "?");

/** A page that a user may be sent to. */
function page(url: string): string {
  const { protocol, href } = URL.canParse(url) ? new URL(url) : { protocol: "", href: "" };
  if (protocol === "https:" || protocol === "http:") return href;
  throw new A2AError("UNAUTHENTICATED", "The issuer names a page that is none.");
}
