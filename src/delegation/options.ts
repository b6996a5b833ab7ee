import type { Credentials } from "../client/credentials/credential.js";
import type { ClientTls } from "../client/platform.js";

/** Another agent that the agents of a server may call. */
export interface RemoteAgentOptions {
  /** URL of its card, or the one below whose well-known path its card is. It is trusted: calls go to whatever interfaces its card names. */
  readonly url: string;
  /** What this server shows there for itself. */
  readonly credentials?: Credentials;
  /** Hosts that get them besides that of `url`, such as `api.example`. Default: none. */
  readonly credentialHosts?: readonly string[];
  /**
   * Shows the other agent the bearer token that the caller of this server has shown, so that it works on the caller's behalf. Only for
   * interfaces of the URL's own origin; kept in memory alone, for as long as the turn needs it. After a restart the task asks for it
   * again (AUTH_REQUIRED). The other agent can do with the token whatever the caller can. Default false.
   */
  readonly passCaller?: boolean;
  /** TLS of the calls. Default: what Node.js trusts. */
  readonly tls?: ClientTls;
  /** Calls it by this function instead of a connection: agents in the same process, tests, runtimes other than Node.js. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Agents that the agents of a server may call, by name; a string is a URL. */
export type RemoteAgents = Readonly<Record<string, string | RemoteAgentOptions>>;
