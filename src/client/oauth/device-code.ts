import { initiateDeviceAuthorization, pollDeviceAuthorizationGrant } from "openid-client";
import { A2AError } from "../../core/error.js";
import { parseUrl } from "../../core/net.js";
import { aFunction, type OptionChecks } from "../../core/options.js";
import type { Credential } from "../credentials/credential.js";
import { flowCredential } from "./flow-credential.js";
import { checkOAuthOptions, type OAuthOptions, oauthChecks } from "./options.js";
import { TokenKeeper } from "./token-keeper.js";

/** Values to show to the user. */
export interface DevicePrompt {
  /** The code to enter. */
  readonly userCode: string;
  /** The page where it is entered. */
  readonly verificationUri: string;
  /** The page with the code in it, for a link or a QR code; not every issuer has one. */
  readonly verificationUriComplete: string | undefined;
  /** Lifetime of the code, in milliseconds. */
  readonly expiresInMs: number;
}

/** Options of `deviceCode`. */
export interface DeviceCodeOptions extends OAuthOptions {
  /** Shows the user where to confirm. The call waits until the user confirms or declines, or the code expires. */
  readonly prompt: (prompt: DevicePrompt) => void | Promise<void>;
}

const checks: OptionChecks<DeviceCodeOptions> = { ...oauthChecks, prompt: aFunction() };

/** Maximum lifetime of a code, in seconds, even if the issuer allows more. */
const MAX_SECONDS = 3_600;

/**
 * OAuth 2.0 for a user who confirms on another device, for example for a command line (RFC 8628; specification 4.5.10).
 * Calls that need a token wait for the user; polling stops when all of them are aborted. Add `offline_access`, as most
 * issuers call it, to `scopes` to get a refresh token.
 *
 * @throws TypeError for invalid options
 */
export function deviceCode(options: DeviceCodeOptions): Credential {
  checkOAuthOptions(options, checks, ["prompt"]);
  const { prompt } = options;
  const keeper = new TokenKeeper(options, {
    name: "deviceCode",
    isUnattended: false,
    async obtain({ issuer: { config }, parameters, signal }) {
      const begun = await initiateDeviceAuthorization(config, parameters);
      // An interval of 0 is an issuer's mistake.
      const grant = { ...begun, ...(begun.interval !== undefined && { interval: Math.max(1, begun.interval) }) };
      const seconds = Math.min(begun.expires_in, MAX_SECONDS);
      const { verification_uri: verificationUri, verification_uri_complete: verificationUriComplete } = begun;
      await prompt({
        userCode: terminalText(begun.user_code),
        verificationUri: page(verificationUri),
        verificationUriComplete: verificationUriComplete === undefined ? undefined : page(verificationUriComplete),
        expiresInMs: seconds * 1_000,
      });
      const expiry = AbortSignal.timeout(seconds * 1_000);
      const { audience, resource } = options;
      const again = { ...(resource !== undefined && { resource }), ...(audience !== undefined && { audience }) };
      try {
        return await pollDeviceAuthorizationGrant(config, grant, again, { signal: AbortSignal.any([signal, expiry]) });
      } catch (error) {
        if (!expiry.aborted) throw error;
        throw new A2AError("UNAUTHENTICATED", "The user did not confirm in time.");
      }
    },
  });
  return flowCredential(keeper, "deviceCode", options);
}

/** Removes characters that control a terminal. */
const terminalText = (text: string): string => text.slice(0, 200).replace(/[^\x20-\x7e]/g, "?");

/** Checks a page that the user is sent to. */
function page(url: string): string {
  const { protocol, href } = parseUrl(url) ?? { protocol: "", href: "" };
  if (protocol === "https:" || protocol === "http:") return href;
  throw new A2AError("UNAUTHENTICATED", "The issuer names a page with an invalid URL.");
}
