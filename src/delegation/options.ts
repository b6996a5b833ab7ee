import type { Credentials } from "../client/credentials/credential.js";
import type { ClientTls } from "../client/platform.js";

/** Another agent that the agents of a server may call. */
export interface RemoteAgentOptions {
  /** URL of its card or of the agent. It is trusted: calls go to the interfaces that its card names. */
  readonly url: string;
  /** This server's own credentials for the agent. */
  readonly credentials?: Credentials;
  /** Hosts that receive them besides that of `url`, such as `api.example`. Default: none. */
  readonly credentialHosts?: readonly string[];
  /**
   * Passes the caller's bearer token on, so that the other agent acts on the caller's behalf. Only for interfaces of
   * the URL's origin. The token is kept in memory only, while the turn needs it. After a restart the task requests it
   * again (AUTH_REQUIRED). The other agent can do anything with the token that the caller can. Default false.
   */
  readonly passCaller?: boolean;
  /** TLS options of the calls. Default: those of Node.js. */
  readonly tls?: ClientTls;
  /**
   * Calls the agent through this function instead of a connection: for agents in the same process, tests, and other
   * runtimes than Node.js.
   */
  readonly fetch?: typeof globalThis.fetch;
}

/** Agents that the agents of a server may call, by name; a string is a URL. */
export type RemoteAgents = Readonly<Record<string, string | RemoteAgentOptions>>;

/** The agents that the agents of a running server may call by name. Changes last until the server ends. */
export interface RemoteAgentRegistry {
  /** Names of the agents, those of the option `remoteAgents` first. */
  readonly names: readonly string[];
  /**
   * Adds an agent, with the checks of the option `remoteAgents`. One of the same name is replaced: calls in progress end
   * with the former one.
   *
   * @throws ConfigurationError that names every wrong value; nothing has changed then
   */
  add(name: string, agent: string | RemoteAgentOptions): void;
  /**
   * Removes an agent. Calls in progress continue; a later turn that names it fails. Returns false if none has the name.
   */
  remove(name: string): boolean;
}
